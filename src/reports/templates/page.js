"use strict";

// When a picker changes, show the pane of the selected value, and hide the other panes of this picker.
addEventListener("change", ({ target }) => {
  for (const pane of document.querySelectorAll(`[data-pane="${CSS.escape(target.name)}"]`)) {
    pane.hidden = pane.dataset.value !== target.value;
  }
  maps.find((map) => map.root.contains(target))?.draw();
  drawBars();
});

// The buttons step through the list next to them.
addEventListener("click", ({ target }) => {
  if (!target.dataset.step) return;
  const list = target.closest(".pickers").querySelector("select");
  const count = list.options.length;
  list.selectedIndex = (list.selectedIndex + Number(target.dataset.step) + count) % count;
  list.dispatchEvent(new Event("change", { bubbles: true }));
});

// Show the word under the pointer, and the weight of the word.
addEventListener("pointerover", ({ target }) => {
  if (!target.matches?.(".strip span")) return;
  const readout = target.closest("section").querySelector(".readout");
  if (readout) readout.textContent = `${target.textContent}: ${target.title}`;
});

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Draw an overview of each strip: a bar for each word, coloured by its weight.
function drawBars() {
  for (const canvas of document.querySelectorAll("canvas.bars")) {
    if (canvas.getClientRects().length === 0) continue; // drawn when it becomes visible
    const words = canvas.closest("details").querySelectorAll(".strip span");
    const depths = [...words].map((word) => Number(word.style.getPropertyValue("--w")));
    Object.assign(canvas, { width: words.length || 1, height: 1 });
    canvas.getContext("2d").putImageData(colouredImage(depths, words.length || 1), 0, 0);
    canvas.onpointermove = ({ offsetX }) => {
      const word = words[Math.floor((offsetX / canvas.clientWidth) * words.length)];
      canvas.title = word ? `${word.textContent}: ${word.title}` : "";
    };
  }
}

// Return an image with a pixel for each depth (0 to 1), in rows of `width` pixels.
function colouredImage(depths, width) {
  const [red, green, blue] = style("--hue").split(" ").map(Number);
  const image = new ImageData(width, Math.max(1, depths.length / width));
  depths.forEach((depth, pixel) => image.data.set([red, green, blue, 255 * Math.min(1, depth)], 4 * pixel));
  return image;
}

// Token × token maps.
class TokenMap {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("canvas");
    this.ring = root.querySelector(".ring");
    this.output = root.querySelector("output");
    this.words = [...root.closest("article").querySelectorAll(".strip span")].map((word) => word.textContent);
    this.selected = null; // row and column of the selected cell
    const size = this.words.length;
    this.cell = size <= 12 ? 30 : size <= 40 ? 18 : size <= 64 ? 13 : Math.max(2, Math.floor(640 / size));
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.point(offsetX, offsetY));
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    this.draw();
  }

  // Return the template of the selected layer and head; if the layer lacks the head, return the template of the mean.
  template() {
    const choice = (name) =>
      this.root.querySelector(`select[name^="${name}-"], input[name^="${name}-"]:checked`)?.value;
    const templates = [...this.root.querySelectorAll("template")];
    const layer = choice("layer") ?? templates[0].dataset.layer;
    const heads = templates.filter(({ dataset }) => dataset.layer === layer);
    return heads.find(({ dataset }) => dataset.head === choice("head")) ?? heads[0];
  }

  draw() {
    const template = this.template();
    const size = this.words.length;
    const full = Number(template.dataset.full);
    this.weights = template.content.textContent.split(" ").map((integer) => integer / 10000);
    const isNamed = this.cell > 9; // smaller cells have no space for words
    const font = `${Math.min(13, this.cell - 1)}px ${getComputedStyle(document.body).fontFamily}`;
    const context = this.canvas.getContext("2d");
    context.font = font;
    const widths = this.words.map((word) => context.measureText(shorten(word)).width);
    this.margin = isNamed ? Math.ceil(Math.max(...widths)) + 8 : 0;
    const side = this.margin + this.cell * size;
    Object.assign(this.canvas, { width: side * devicePixelRatio, height: side * devicePixelRatio });
    Object.assign(this.canvas.style, { width: `${side}px`, height: `${side}px` });
    context.scale(devicePixelRatio, devicePixelRatio);
    const small = new OffscreenCanvas(size, size);
    const depths = this.weights.map((weight) => Math.max(0.03, weight / full)); // so that a cell of weight 0 is visible
    small.getContext("2d").putImageData(colouredImage(depths, size), 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, this.margin, this.margin, this.cell * size, this.cell * size);
    if (isNamed) this.drawNames(context, font);
    this.showWeight();
  }

  drawNames(context, font) {
    Object.assign(context, { font, fillStyle: style("--ink"), strokeStyle: style("--paper"), textBaseline: "middle" });
    this.words.forEach((word, index) => {
      const edge = this.margin + this.cell * index;
      context.strokeRect(edge, this.margin, 0, this.canvas.height);
      context.strokeRect(this.margin, edge, this.canvas.width, 0);
      const middle = edge + this.cell / 2;
      context.textAlign = "right";
      context.fillText(shorten(word), this.margin - 5, middle);
      context.save();
      context.translate(middle, this.margin - 5);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(shorten(word), 0, 0);
      context.restore();
    });
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

  point(x, y) {
    const [row, column] = [y, x].map((offset) => Math.floor((offset - this.margin) / this.cell));
    this.select(row, column);
  }

  step(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!steps) return;
    event.preventDefault();
    const [row, column] = this.selected ?? [0, 0];
    this.select(row + steps[0], column + steps[1]);
  }

  select(...cell) {
    if (cell.some((index) => index < 0 || index >= this.words.length)) return;
    this.selected = cell;
    this.showWeight();
  }
}

const shorten = (word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word);
const maps = [...document.querySelectorAll(".map")].map((root) => new TokenMap(root));
addEventListener("toggle", drawBars, true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawBars();
  for (const map of maps) map.draw();
});
drawBars();
