"use strict";

// A click on the head of a column sorts the table by it: numbers from the largest, text from A to Z. A second click
// reverses the order. Numbers come before text; "< 0.001" counts as 0.
for (const table of document.querySelectorAll(".sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) =>
    row.cells[column].textContent.trim().replace(/^<.*/, "0").replace("\u2212", "-").replaceAll(",", "");
  heads.forEach((head, column) => {
    head.addEventListener("click", () => {
      const isDescending = head.ariaSort ? head.ariaSort === "ascending" : head.className === "num";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = isDescending ? "descending" : "ascending";
      const sign = isDescending ? -1 : 1;
      const compare = (a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        const [p, q] = [Number.parseFloat(x), Number.parseFloat(y)];
        if (Number.isNaN(p) || Number.isNaN(q)) return Number.isNaN(p) - Number.isNaN(q) || sign * x.localeCompare(y);
        return sign * (p - q);
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
  if (body.rows.length > 8) {
    const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "Filter rows" });
    filter.className = "filter";
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(" ");
      for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    table.parentElement.before(filter);
  }
}

// Word × word maps: a canvas that shows the selected map, and the weight of the selected cell.
class TokenMap {
  constructor(root) {
    this.root = root;
    [this.canvas, this.ring, this.output] = ["canvas", ".ring", "output"].map((name) => root.querySelector(name));
    this.words = JSON.parse(root.dataset.words);
    this.templates = [...root.querySelectorAll("template")];
    this.selected = null; // row and column of the selected cell
    const size = this.words.length;
    this.cell = size <= 12 ? 30 : size <= 40 ? 18 : size <= 64 ? 13 : Math.max(2, Math.floor(640 / size));
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      this.select(...[offsetY, offsetX].map((offset) => Math.floor((offset - this.margin) / this.cell)));
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [row, column] = this.selected ?? [0, 0];
      this.select(row + step[0], column + step[1]);
    });
    if (this.templates.length > 1) {
      const picker = document.createElement("select");
      picker.append(...this.templates.map(({ dataset }) => new Option(dataset.name)));
      picker.addEventListener("change", () => this.draw(this.templates[picker.selectedIndex]));
      root.prepend(picker);
    }
    this.draw(this.templates[0]);
  }

  draw(template) {
    const size = this.words.length;
    this.weights = template.content.textContent.split(" ").map((integer) => integer / 10000);
    const isNamed = this.cell > 9; // smaller cells have no space for words
    const font = `${Math.min(13, this.cell - 1)}px ${getComputedStyle(document.body).fontFamily}`;
    const context = this.canvas.getContext("2d");
    context.font = font;
    const names = this.words.map((word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word));
    this.margin = isNamed ? Math.ceil(Math.max(...names.map((name) => context.measureText(name).width))) + 8 : 0;
    const side = this.margin + this.cell * size;
    Object.assign(this.canvas, { width: side * devicePixelRatio, height: side * devicePixelRatio });
    Object.assign(this.canvas.style, { width: `${side}px`, height: `${side}px` });
    context.scale(devicePixelRatio, devicePixelRatio);
    const [red, green, blue] = getComputedStyle(this.root).getPropertyValue("--hue").split(" ");
    this.weights.forEach((weight, index) => {
      const alpha = Math.min(1, Math.max(0.03, weight / Number(template.dataset.full))); // weight 0 stays visible
      context.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha})`;
      const [row, column] = [Math.floor(index / size), index % size];
      context.fillRect(this.margin + this.cell * column, this.margin + this.cell * row, this.cell, this.cell);
    });
    if (isNamed) {
      Object.assign(context, { font, fillStyle: "#14181f", textBaseline: "middle" });
      names.forEach((name, index) => {
        const middle = this.margin + this.cell * (index + 0.5);
        context.textAlign = "right";
        context.fillText(name, this.margin - 5, middle);
        context.save();
        context.translate(middle, this.margin - 5);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(name, 0, 0);
        context.restore();
      });
    }
    this.showWeight();
  }

  select(...cell) {
    if (cell.some((index) => index < 0 || index >= this.words.length)) return;
    this.selected = cell;
    this.showWeight();
  }

  showWeight() {
    if (!this.selected) return;
    const [row, column] = this.selected;
    const corner = { left: this.margin + this.cell * column, top: this.margin + this.cell * row };
    const box = { ...corner, width: this.cell, height: this.cell };
    for (const [side, size] of Object.entries(box)) this.ring.style[side] = `${size}px`;
    this.ring.hidden = false;
    const weight = this.weights[row * this.words.length + column];
    const ratio = (weight * this.words.length).toFixed(1);
    const [from, to] = this.selected.map((index) => `${this.words[index]} (${index + 1})`);
    this.output.textContent = `${from} → ${to}: weight ${weight.toFixed(4)}, ${ratio} × uniform`;
  }
}

for (const root of document.querySelectorAll(".map")) new TokenMap(root);
