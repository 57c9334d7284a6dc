"use strict";

// Pickers: of the panes that share a picker's name, the one of its value is shown.
addEventListener("change", ({ target }) => {
  for (const pane of document.querySelectorAll(`[data-pane="${CSS.escape(target.name)}"]`)) {
    pane.hidden = pane.dataset.value !== target.value;
  }
  maps.find((map) => map.root.contains(target))?.draw();
  drawBars();
});

// Buttons that step through the list beside them.
addEventListener("click", ({ target }) => {
  if (!target.dataset.step) return;
  const list = target.closest(".pickers").querySelector("select");
  const count = list.options.length;
  list.selectedIndex = (list.selectedIndex + Number(target.dataset.step) + count) % count;
  list.dispatchEvent(new Event("change", { bubbles: true }));
});

// The word under the pointer, and its weight.
addEventListener("pointerover", ({ target }) => {
  if (!target.matches?.(".strip span")) return;
  const reading = target.closest("section").querySelector(".reading");
  if (reading) reading.textContent = `${target.textContent}: ${target.title}`;
});

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Strips in small: a bar for each word, in the colour of its weight.
function drawBars() {
  for (const canvas of document.querySelectorAll("canvas.bars")) {
    if (canvas.getClientRects().length === 0) continue; // drawn when it comes to be seen
    const words = canvas.closest("details").querySelectorAll(".strip span");
    const depths = [...words].map((word) => Number(word.style.getPropertyValue("--w")));
    Object.assign(canvas, { width: words.length || 1, height: 1 });
    canvas.getContext("2d").putImageData(coloured(depths, words.length || 1), 0, 0);
    canvas.onpointermove = ({ offsetX }) => {
      const word = words[Math.floor((offsetX / canvas.clientWidth) * words.length)];
      canvas.title = word ? `${word.textContent}: ${word.title}` : "";
    };
  }
}

// Pixels in the colour of their depth, 0 to 1; `across` of them make a row.
function coloured(depths, across) {
  const [red, green, blue] = style("--hue").split(" ").map(Number);
  const image = new ImageData(across, Math.max(1, depths.length / across));
  depths.forEach((depth, at) => image.data.set([red, green, blue, 255 * Math.min(1, depth)], 4 * at));
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
    this.at = null; // row and column of the cell that is read
    const size = this.words.length;
    this.cell = size <= 12 ? 30 : size <= 40 ? 18 : size <= 64 ? 13 : Math.max(2, Math.floor(640 / size));
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.point(offsetX, offsetY));
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    this.draw();
  }

  // The weights of the layer and head that are picked; a layer without that head shows the mean of its own.
  held() {
    const picked = (what) =>
      this.root.querySelector(`select[name^="${what}-"], input[name^="${what}-"]:checked`)?.value;
    const held = [...this.root.querySelectorAll("template")];
    const layer = picked("layer") ?? held[0].dataset.layer;
    const heads = held.filter(({ dataset }) => dataset.layer === layer);
    return heads.find(({ dataset }) => dataset.head === picked("head")) ?? heads[0];
  }

  draw() {
    const held = this.held();
    const size = this.words.length;
    const full = Number(held.dataset.full);
    this.weights = held.content.textContent.split(" ").map((whole) => whole / 10000);
    const isNamed = this.cell > 9; // smaller cells leave no room for letters
    const font = `${Math.min(13, this.cell - 1)}px ${getComputedStyle(document.body).fontFamily}`;
    const pen = this.canvas.getContext("2d");
    pen.font = font;
    const widths = this.words.map((word) => pen.measureText(short(word)).width);
    this.margin = isNamed ? Math.ceil(Math.max(...widths)) + 8 : 0;
    const side = this.margin + this.cell * size;
    Object.assign(this.canvas, { width: side * devicePixelRatio, height: side * devicePixelRatio });
    Object.assign(this.canvas.style, { width: `${side}px`, height: `${side}px` });
    pen.scale(devicePixelRatio, devicePixelRatio);
    const small = new OffscreenCanvas(size, size);
    const depths = this.weights.map((weight) => Math.max(0.03, weight / full)); // so that an empty cell is seen
    small.getContext("2d").putImageData(coloured(depths, size), 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, this.margin, this.margin, this.cell * size, this.cell * size);
    if (isNamed) this.name(pen, font);
    this.read();
  }

  name(pen, font) {
    Object.assign(pen, { font, fillStyle: style("--ink"), strokeStyle: style("--paper"), textBaseline: "middle" });
    this.words.forEach((word, at) => {
      const edge = this.margin + this.cell * at;
      pen.strokeRect(edge, this.margin, 0, this.canvas.height);
      pen.strokeRect(this.margin, edge, this.canvas.width, 0);
      const middle = edge + this.cell / 2;
      pen.textAlign = "right";
      pen.fillText(short(word), this.margin - 5, middle);
      pen.save();
      pen.translate(middle, this.margin - 5);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(short(word), 0, 0);
      pen.restore();
    });
  }

  read() {
    if (!this.at) return;
    const [row, column] = this.at;
    const places = { left: this.margin + this.cell * column, top: this.margin + this.cell * row };
    const box = { ...places, width: this.cell, height: this.cell };
    for (const [side, size] of Object.entries(box)) this.ring.style[side] = `${size}px`;
    this.ring.hidden = false;
    const weight = this.weights[row * this.words.length + column];
    const even = (weight * this.words.length).toFixed(1);
    const [from, to] = this.at.map((place) => `${this.words[place]} (${place + 1})`);
    this.output.textContent = `${from} → ${to}: weight ${weight.toFixed(4)}, ${even} × even`;
  }

  point(x, y) {
    const [row, column] = [y, x].map((place) => Math.floor((place - this.margin) / this.cell));
    this.move(row, column);
  }

  step(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!steps) return;
    event.preventDefault();
    const [row, column] = this.at ?? [0, 0];
    this.move(row + steps[0], column + steps[1]);
  }

  move(...at) {
    if (at.some((place) => place < 0 || place >= this.words.length)) return;
    this.at = at;
    this.read();
  }
}

const short = (word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word);
const maps = [...document.querySelectorAll(".map")].map((root) => new TokenMap(root));
addEventListener("toggle", drawBars, true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawBars();
  for (const map of maps) map.draw();
});
drawBars();
