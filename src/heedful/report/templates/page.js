"use strict";
document.documentElement.classList.add("script");

// A click on the head of a column sorts the table by it: numbers from the largest, text from A to Z. A second click
// reverses the order. Numbers come before text; "< 0.001" counts as 0.
for (const table of document.querySelectorAll(".sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) =>
    row.cells[column].textContent.trim().replace(/^<.*/, "0").replace("\u2212", "-").replaceAll(",", "");
  heads.forEach((head, column) => {
    const button = create("button", {}, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
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
  if (body.rows.length > 15) {
    const filter = create("input", { type: "search", placeholder: "Filter rows", class: "search" });
    filter.setAttribute("aria-label", `Filter the rows by words`);
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(" ");
      for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    table.parentElement.before(filter);
  }
}

function create(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== ""));
  return element;
}

const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const readData = (root) => JSON.parse(root.querySelector("script").textContent);

for (const button of document.querySelectorAll(":disabled")) button.disabled = false;
for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    await navigator.clipboard?.writeText(code.textContent).then(
      () => (button.textContent = "Copied"),
      () => getSelection().selectAllChildren(code),
    );
    setTimeout(() => (button.textContent = "Copy"), 2500);
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));

// How many texts are answered, and how many of them wrongly, from the confidence that the slider selects.
for (const root of document.querySelectorAll(".coverage")) {
  const limits = readData(root);
  const [input, output] = [root.querySelector("input"), root.querySelector("output")];
  const total = limits.at(-1)[1];
  const show = () => {
    const [confidence, texts, wrong, low, high] = limits[input.value];
    const [answered, errors] = [Math.round((1000 * texts) / total), Math.round((1000 * wrong) / total)];
    const range = low === null ? "" : ` (${percent(low, 1)} to ${percent(high, 1)})`;
    const share = `Errors of its answers: ${percent(wrong / texts, 1)}${range}, from confidence ${confidence.toFixed(2)}.`;
    const sentence = `Of 1,000 texts it answers ${answered}, about ${errors} of them wrongly; a person reads ${1000 - answered}.`;
    output.replaceChildren(sentence, create("span", { class: "caption" }, ` ${share}`));
    input.setAttribute("aria-valuetext", sentence);
  };
  input.addEventListener("input", show);
  show();
}

// The texts: filters, colours and, of a comparison, the answers of each variant.
class TextList {
  constructor(root) {
    this.root = root;
    this.data = readData(root);
    [this.list, this.status, this.more, this.search] = [".scripted .list", "[role=status]", ".more", "[type=search]"].map(
      (name) => root.querySelector(name),
    );
    [this.presets, this.selects, this.models, this.modes] = [".preset", ".cells", ".model", "[name=mode]"].map((name) => [
      ...root.querySelectorAll(name),
    ]);
    this.first = matchMedia("(max-width: 40rem)").matches ? 8 : 15;
    this.filters = [...document.querySelectorAll(".filter")];
    this.select({ preset: this.presets[0]?.dataset.preset });
    for (const button of this.presets) button.addEventListener("click", () => this.select(button.dataset));
    for (const button of this.filters) button.addEventListener("click", () => this.select(button.dataset, true));
    for (const input of [...this.selects, ...this.models, ...this.modes]) input.addEventListener("change", () => this.draw());
    this.search.addEventListener("input", () => this.draw());
    this.more.addEventListener("click", () => {
      this.count += 50;
      this.draw();
    });
  }

  select(choice, isElsewhere = false) {
    this.choice = { ...choice };
    this.count = this.first;
    if (choice.column !== undefined) {
      for (const select of this.selects) select.value = select.dataset.column === choice.column ? choice.value : "";
      this.choice = { preset: "all" };
    }
    this.draw();
    if (!isElsewhere) return;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    this.status.scrollIntoView({ block: "center", behavior });
  }

  name(label) {
    return typeof label === "number" ? this.data.names[label] : label;
  }

  // whether most seeds of a variant are right; `answers` are [right seeds, the most frequent answer] of each variant
  isRight(row, variant) {
    return 2 * row.v[variant][0] > this.data.variants[variant][2];
  }

  matches(row, preset) {
    if (preset === undefined) {
      const [a, b, c] = [this.choice.true, this.choice.predicted, this.choice.class].map((value) => value && Number(value));
      return c === undefined ? row.y === a && row.k === b : row.y !== row.k && (row.y === c || row.k === c);
    }
    if (this.models.length) {
      const [first, second] = this.models.map((model) => this.isRight(row, Number(model.value)));
      const isHard = row.v.every(([right]) => right === 0);
      return { a: first && !second, b: second && !first, none: !first && !second, both: first && second, hard: isHard }[preset];
    }
    const flag = { wrong: "x", doubtful: "d", trained: "i" }[preset];
    return flag ? row[flag] : true;
  }

  draw() {
    const word = this.search.value.toLowerCase();
    const picked = this.selects.map((select) => select.value);
    const found = this.data.rows.filter(
      (row) => picked.every((value, i) => !value || row.s[i] === value) && row.t.toLowerCase().includes(word),
    );
    let rows = found.filter((row) => this.matches(row, this.choice.preset));
    if (this.choice.preset === "unsure") rows = [...rows].sort((p, q) => p.c - q.c);
    for (const button of this.presets) {
      button.setAttribute("aria-pressed", button.dataset.preset === this.choice.preset);
      if (this.models.length) {
        const name = this.data.presets.find(([key]) => key === button.dataset.preset)[1];
        button.textContent = `${found.filter((row) => this.matches(row, button.dataset.preset)).length} ${name}`;
      }
    }
    for (const button of this.filters) {
      const isPressed = ["true", "predicted", "class", "column", "value"].every((key) => button.dataset[key] === this.choice[key]);
      button.setAttribute("aria-pressed", isPressed);
    }
    const preset = this.data.presets.find(([key]) => key === this.choice.preset);
    const { true: a, predicted: b, class: c } = this.choice;
    const what = preset?.[1] ?? (c ? `mistakes with ${this.name(Number(c))}` : `true ${this.name(Number(a))}, predicted ${this.name(Number(b))}`);
    const models = this.models.map((model) => `${model.parentElement.firstChild.data.trim()}: ${model.selectedOptions[0].text}`);
    const extra = [...models, ...picked.filter(Boolean), ...(word ? [`with “${word}”`] : [])].map((part) => `, ${part}`).join("");
    const of = this.data.rows.length < this.data.total ? ` (${this.data.rows.length} of ${this.data.total} texts are on this page)` : "";
    const shown = `${rows.length} ${this.choice.preset === "all" ? "" : rows.length === 1 ? "text: " : "texts: "}${what}`;
    this.status.textContent = `${shown}${extra}${of}`;
    this.list.replaceChildren(...rows.slice(0, this.count).map((row) => this.item(row)));
    this.more.hidden = rows.length <= this.count;
    this.more.textContent = `Show ${Math.min(50, rows.length - this.count)} more`;
    this.more.dataset.rest = `${rows.length - this.count} more texts are not printed.`;
  }

  item(row) {
    const where = create("span", { class: "where" }, [row.o, ...(row.s ?? [])].filter(Boolean).join(" · "));
    if (row.v) {
      const head = create("p", { class: "head" }, create("span", {}, "true: ", create("b", {}, this.name(row.y))), where);
      const answers = create("p", { class: "answers" });
      this.data.variants.forEach(([letter, , seeds], i) => {
        const [isRight, [right, answer]] = [this.isRight(row, i), row.v[i]];
        const mark = `${i ? "  ·  " : ""}${letter} ${isRight ? "✓" : "✗"} `;
        answers.append(mark, create("b", { class: isRight ? "good" : "bad" }, this.name(answer)), seeds > 1 ? ` ${right}/${seeds}` : "");
      });
      return create("li", {}, head, create("p", { dir: "auto" }, row.t), answers);
    }
    const confidence = row.c === undefined ? "" : ` ${percent(row.c)}`;
    const predicted = create("b", { class: row.x ? "bad" : "good" }, this.name(row.k) || "no label");
    const label = row.x === 0 ? "right: " : `${this.name(row.y) || "no label"} → `;
    const notes = [row.p === undefined ? "" : `(true class: ${percent(row.p, row.p < 0.1 ? 1 : 0)})`, row.n ?? ""];
    const head = create("p", { class: "head" }, create("span", {}, label, predicted, confidence, " ", notes.filter(Boolean).join(" ")));
    if (row.d) head.append(create("span", { class: "bad" }, "doubtful label"));
    if (row.i) head.append(create("span", { class: "bad" }, "also a training text"));
    head.append(where);
    return create("li", {}, head, this.coloured(row));
  }

  // The text with the spaces of the original, and its words coloured by the selected weights.
  coloured(row) {
    const paragraph = create("p", { dir: "auto" });
    const mode = this.modes.find((input) => input.checked)?.value;
    const weights = row[mode]?.map((weight) => weight / this.data.scales[mode]);
    if (!weights?.length) {
      paragraph.append(row.t);
      return paragraph;
    }
    const largest = Math.max(...weights.map(Math.abs));
    const full = mode === "a" ? Math.max(largest, Math.min(1, 3 / weights.length)) : Math.max(largest, 0.8 * this.data.unit);
    let position = 0;
    row.w.forEach((word, i) => {
      const start = row.t.indexOf(word, position);
      if (start < 0) return;
      paragraph.append(row.t.slice(position, start));
      position = start + word.length;
      const depth = Math.abs(weights[i]) / full;
      if (depth < 0.15) return paragraph.append(word);
      const mark = create("mark", { title: `${mode === "a" ? "attention" : this.data.measure} ${weights[i]}` }, word);
      mark.className = weights[i] < 0 ? "against" : "";
      mark.style.setProperty("--w", Math.min(1, depth).toFixed(2));
      paragraph.append(mark);
    });
    paragraph.append(row.t.slice(position));
    return paragraph;
  }
}

for (const root of document.querySelectorAll(".texts")) new TextList(root);

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
      const picker = create("select", { "aria-label": "Map" });
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
    context.fillStyle = getComputedStyle(document.body).backgroundColor; // in print, too
    context.fillRect(0, 0, side, side);
    const [red, green, blue] = getComputedStyle(this.root).getPropertyValue("--hue").split(" ");
    this.weights.forEach((weight, index) => {
      const alpha = Math.min(1, Math.max(0.03, weight / Number(template.dataset.full))); // weight 0 stays visible
      context.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha})`;
      const [row, column] = [Math.floor(index / size), index % size];
      context.fillRect(this.margin + this.cell * column, this.margin + this.cell * row, this.cell, this.cell);
    });
    if (isNamed) {
      Object.assign(context, { font, fillStyle: getComputedStyle(document.body).color, textBaseline: "middle" });
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
