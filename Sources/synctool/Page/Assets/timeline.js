// The live timeline of one store. A page that is hidden follows nothing; shown again, it reads the newest page and
// goes on from there.

import { call, follow } from "/service.js";
import { byId, changeLine, fillValues, make, plural, transactionHead } from "/text.js";

const shownMax = 200;
const retryDelay = 1000;

export class Timeline {
  #store = null;
  #ending = null;
  #incoming = [];
  #isDrawing = false;
  #isPaused = false;
  #items = new Map();
  #oldest = null;
  #announced = 0;

  constructor({ plots, open, changed, state }) {
    Object.assign(this, { plots, open, changed, state });
    byId("pause").addEventListener("click", () => this.togglePause());
    byId("older").addEventListener("click", () => this.#loadOlder());
    setInterval(() => this.#announce(), 5000);
  }

  show(store) {
    this.stop();
    this.#store = store;
    this.#run();
  }

  stop() {
    this.#ending?.abort();
    this.#ending = null;
  }

  togglePause() {
    this.#isPaused = !this.#isPaused;
    byId("pause").setAttribute("aria-pressed", String(this.#isPaused));
    byId("pause").firstChild.data = this.#isPaused ? "Continue " : "Pause ";
    this.#draw();
  }

  // Moves the focus by one transaction.
  move(step) {
    const list = byId("transactions");
    const current = document.activeElement.closest("#transactions > li");
    const next = current ? (step > 0 ? current.nextElementSibling : current.previousElementSibling)
      : list.firstElementChild;
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  async #run() {
    const ending = new AbortController();
    this.#ending = ending;
    const store = this.#store;
    while (!ending.signal.aborted) {
      try {
        this.state("connecting");
        const page = await call("history", { store }, ending.signal);
        this.#reset(page.transactions);
        this.state("live");
        this.#askValues(page.transactions);
        await follow("events", { store, after: page.head }, ending.signal, (line) => this.#take(line));
      } catch (error) {
        if (error.name === "AbortError") return;
        this.state("lost", error.message);
      }
      await new Promise((resolve) => setTimeout(resolve, retryDelay));
    }
  }

  #reset(transactions) {
    this.#incoming = [];
    this.#items.clear();
    byId("transactions").replaceChildren(...transactions.map((each) => this.#item(each)));
    this.#noteOldest(transactions);
    byId("waiting").textContent = transactions.length === 0 ? "No transactions yet." : "";
  }

  #noteOldest(transactions) {
    if (transactions.length > 0) this.#oldest = transactions.at(-1).token;
    byId("older").hidden = transactions.length === 0 || transactions.at(-1).number <= 1;
  }

  #take(line) {
    if (line.transaction) {
      this.plots.count();
      this.#announced += 1;
      this.#incoming.push(line.transaction);
      this.#draw();
      if (line.transaction.flags.length > 0) this.changed();
    } else if (line.values) {
      this.#fillIn(line.number, line.values);
    } else if (line.failure) {
      this.state("lost", line.failure.reason);
    } else if (!line.alive && !line.token) {
      this.changed();
    }
  }

  // Draws what has come since, in one go before the next frame.
  #draw() {
    byId("waiting").textContent = this.#isPaused ? `${plural(this.#incoming.length, "new transaction")}` : "";
    if (this.#isPaused || this.#isDrawing || this.#incoming.length === 0) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      const come = this.#incoming.splice(0).slice(-shownMax);
      const list = byId("transactions");
      list.prepend(...come.toReversed().map((transaction) => this.#item(transaction, true)));
      while (list.childElementCount > shownMax && !list.lastElementChild.contains(document.activeElement)) {
        this.#items.delete(Number(list.lastElementChild.dataset.number));
        list.lastElementChild.remove();
        this.#oldest = list.lastElementChild.dataset.token;
        byId("older").hidden = false;
      }
      // After this frame was painted.
      requestAnimationFrame(() => {
        const now = Date.now();
        for (const { timestamp } of come) this.plots.shown(Math.max(0, now - Date.parse(timestamp)), now);
      });
    });
  }

  #item(transaction, isFresh = false) {
    const changes = transaction.changes.map((change) =>
      ({ change, line: changeLine(change, transaction.after?.[change.object], this.open) }));
    const item = make("li", { tabindex: "-1", class: isFresh ? "fresh" : null,
      "data-number": transaction.number, "data-token": transaction.token },
    transactionHead(transaction),
    make("ul", { class: "changes" }, ...changes.map(({ line }) => line)),
    transaction.isCut ? make("p", { class: "faint" }, "… and more changes: synctool history shows all") : "");
    this.#items.set(transaction.number, changes);
    return item;
  }

  #fillIn(number, values) {
    const waiting = this.#incoming.find((each) => each.number === number);
    if (waiting) waiting.after = values;
    for (const { change, line } of this.#items.get(number) ?? []) {
      if (change.object in values) fillValues(line.querySelector(".values"), change, values[change.object]);
    }
  }

  // What the changes of earlier transactions left; those of new ones come with the events.
  async #askValues(transactions) {
    const asked = transactions.map(({ token, changes }) => ({
      token, objects: changes.filter((change) => change.kind !== "delete").map((change) => change.object),
    })).filter(({ objects }) => objects.length > 0);
    if (asked.length === 0) return;
    try {
      const found = await call("values", { store: this.#store, transactions: asked }, this.#ending?.signal);
      for (const { number, values } of found.transactions) this.#fillIn(number, values);
    } catch { /* without them, the values before are shown */ }
  }

  async #loadOlder() {
    try {
      const page = await call("history", { store: this.#store, upTo: this.#oldest }, this.#ending?.signal);
      byId("transactions").append(...page.transactions.map((each) => this.#item(each)));
      this.#askValues(page.transactions);
      if (page.transactions.length === 0) byId("older").hidden = true;
      else this.#noteOldest(page.transactions);
    } catch (error) {
      if (error.name !== "AbortError") this.state("lost", error.message);
    }
  }

  // For screen readers: how many, not each.
  #announce() {
    if (this.#announced > 0 && !this.#isPaused) {
      byId("announcement").textContent = plural(this.#announced, "new transaction");
    }
    this.#announced = 0;
  }
}
