// Rate and latency of the last minute, drawn once a second while the timeline is on screen.

import { byId } from "/text.js";

const seconds = 60;
const samplesMax = 2000;
const target = 200;

export class Plots {
  constructor() {
    this.reset();
    setInterval(() => this.draw(), 1000);
  }

  reset() {
    this.counts = new Map();
    this.samples = [];
  }

  count(now = Date.now()) {
    const second = Math.floor(now / 1000);
    this.counts.set(second, (this.counts.get(second) ?? 0) + 1);
  }

  shown(milliseconds, now = Date.now()) {
    this.samples.push({ now, milliseconds });
    if (this.samples.length > samplesMax) this.samples.splice(0, this.samples.length - samplesMax);
  }

  percentile(part) {
    const sorted = this.samples.map((sample) => sample.milliseconds).sort((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  }

  draw() {
    if (document.hidden || byId("timeline").hidden || byId("store").hidden) return;
    const now = Math.floor(Date.now() / 1000);
    for (const second of this.counts.keys()) if (second <= now - seconds) this.counts.delete(second);
    this.samples = this.samples.filter((sample) => sample.now > Date.now() - seconds * 1000);
    const rates = Array.from({ length: seconds }, (_, place) => this.counts.get(now - seconds + 1 + place) ?? 0);
    const most = Math.max(...rates, 1);
    bars(byId("rate-plot"), rates, most);
    const current = rates[seconds - 2];
    byId("rate-now").textContent = String(current);
    byId("rate-plot").setAttribute("aria-label",
      `transactions per second: ${current} now, at most ${Math.max(...rates)} in the last minute`);
    this.#drawLatency();
  }

  #drawLatency() {
    const plot = byId("latency-plot");
    const top = Math.max(target * 1.1, ...this.samples.map((sample) => sample.milliseconds));
    const y = (milliseconds) => 58 - (milliseconds / top) * 54;
    const dots = this.samples.map(({ now, milliseconds }) =>
      `M${(300 - (Date.now() - now) / (seconds * 1000) * 300).toFixed(1)} ${y(milliseconds).toFixed(1)}h2v2h-2z`);
    plot.replaceChildren(
      shape("path", { class: "dots", d: dots.join("") }),
      shape("line", { class: "limit", x1: 0, x2: 300, y1: y(target), y2: y(target) }));
    const [median, p99] = [this.percentile(0.5), this.percentile(0.99)]
      .map((milliseconds) => (milliseconds === undefined ? "–" : `${Math.round(milliseconds)} ms`));
    byId("latency-median").textContent = median;
    byId("latency-p99").textContent = p99;
    plot.setAttribute("aria-label", `from commit to shown: median ${median}, p99 ${p99}; the line is at ${target} ms`);
  }
}

function shape(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function bars(plot, values, most) {
  const width = 300 / values.length;
  const path = values.map((value, place) => {
    const height = (value / most) * 56;
    return height > 0 ? `M${(place * width).toFixed(1)} 60v${(-height).toFixed(1)}h${(width - 1).toFixed(1)}v${height.toFixed(1)}z` : "";
  });
  plot.replaceChildren(shape("path", { class: "bars", d: path.join("") }));
}
