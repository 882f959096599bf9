// The list of stores with what each waits for, and the status of the one that is shown.

import { call } from "/service.js";
import { age, ago, byId, bytes, duration, make, plural, printable, table } from "/text.js";

const callsMax = 3;

export class Stores {
  #items = new Map();
  #visible = new Set();
  #chosen = null;

  constructor(choose) {
    this.choose = choose;
    byId("filter").addEventListener("input", () => this.#filter());
    // The status of a store is asked for while its line is on screen.
    this.observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.#visible.add(target.dataset.path);
        else this.#visible.delete(target.dataset.path);
      }
    }, { root: null });
  }

  get first() { return this.#items.keys().next().value; }
  has(path) { return this.#items.has(path); }

  async load() {
    const { stores } = await call("stores");
    const present = new Set(stores.map((store) => store.path));
    for (const [path, item] of this.#items) {
      if (present.has(path)) continue;
      this.observer.unobserve(item);
      item.remove();
      this.#items.delete(path);
      this.#visible.delete(path);
    }
    for (const store of stores) {
      const item = this.#items.get(store.path) ?? this.#add(store.path);
      if (item.dataset.state !== store.state) item.dataset.state = store.state;
      if (store.state !== "open") tags(item, [["bad", store.error?.reason ?? store.state]]);
    }
    byId("store-count").textContent = plural(stores.length, "store");
    this.#filter();
  }

  #add(path) {
    const slash = path.lastIndexOf("/");
    const item = make("li", { "data-path": path },
      make("button", { type: "button", title: path, onclick: () => this.choose(path) },
        make("span", { class: "name" }, printable(path.slice(slash + 1))),
        make("span", { class: "folder" }, printable(path.slice(0, slash) || "/")),
        make("span", { class: "tags" })));
    this.#items.set(path, item);
    byId("stores").append(item);
    this.observer.observe(item);
    return item;
  }

  mark(path) {
    this.#items.get(this.#chosen)?.firstElementChild.removeAttribute("aria-current");
    this.#chosen = path;
    this.#items.get(path)?.firstElementChild.setAttribute("aria-current", "true");
  }

  #filter() {
    const wanted = byId("filter").value.toLowerCase();
    for (const [path, item] of this.#items) {
      const isHidden = !path.toLowerCase().includes(wanted);
      if (item.hidden !== isHidden) item.hidden = isHidden;
    }
  }

  // Asks for the lag of the stores whose lines are on screen, few at a time.
  async refreshLag() {
    const waiting = [...this.#visible].filter((path) => this.#items.get(path)?.dataset.state === "open");
    const worker = async () => {
      for (let path; (path = waiting.shift()) !== undefined;) {
        try {
          const item = this.#items.get(path);
          if (item) tags(item, lagTags(await call("status", { store: path })));
        } catch { /* the list says it, the next time that it is loaded */ }
      }
    };
    await Promise.all(Array.from({ length: callsMax }, worker));
  }
}

// What is said already is left alone: with a thousand stores, each write to the page delays the timeline.
function tags(item, list) {
  const said = JSON.stringify(list);
  if (item.dataset.tags === said) return;
  item.dataset.tags = said;
  item.querySelector(".tags").replaceChildren(
    ...list.map(([kind, text]) => make("span", { class: `tag ${kind}` }, text)));
}

const behind = (consumer, status) => Math.max(0, status.number - consumer.acknowledged);

function lagTags(status) {
  const list = [];
  const most = Math.max(0, ...status.consumers.filter((each) => !each.lapsed).map((each) => behind(each, status)));
  if (most > 0) list.push(["warn", `consumer ${most.toLocaleString("en")} behind`]);
  for (const remote of status.remotes ?? []) {
    if (remote.error) list.push(["bad", `${printable(remote.name)} failed`]);
    else if (remote.behindSince) list.push(["warn", `${printable(remote.name)} ${duration(age(remote.behindSince))} behind`]);
  }
  if (status.conflicts > 0) list.push(["bad", plural(status.conflicts, "conflict")]);
  if (status.findings.length > 0) list.push(["bad", plural(status.findings.length, "problem")]);
  return list.length > 0 ? list : [["good", "up to date"]];
}

export function showStatus(status) {
  const facts = [
    ["state", status.store.state],
    ["last transaction", `#${status.number.toLocaleString("en")}`],
    ["subscribers", status.store.subscribers],
    ["not yet in the history", plural(status.pending, "row")],
    ["file", bytes(status.databaseBytes)],
    ["WAL", bytes(status.walBytes)],
    ["replica", status.replicaName ?? status.store.replica ?? "–"],
  ];
  byId("facts").replaceChildren(...facts.map(([name, text]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, printable(String(text))))));
  const problems = [...status.findings, ...(status.store.error ? [status.store.error.reason] : [])];
  byId("problem").hidden = problems.length === 0;
  byId("problem").textContent = problems.map(printable).join(" ");
  byId("conflict-count").hidden = status.conflicts === 0;
  byId("conflict-count").textContent = String(status.conflicts);
  showConsumers(status);
  showRemotes(status);
}

function showConsumers(status) {
  if (status.consumers.length === 0) {
    return byId("consumers").replaceChildren(
      make("p", {}, "No consumers: nothing holds the history back when it is purged."));
  }
  const holding = status.consumers.filter((each) => !each.lapsed && each.kind !== "writer")
    .sort((one, other) => one.acknowledged - other.acknowledged)[0];
  byId("consumers").replaceChildren(
    make("p", {}, holding ? `History after #${holding.acknowledged.toLocaleString("en")} is held back by ${printable(holding.name)}.`
      : "Nothing holds the history back."),
    table("Consumers", [["name"], ["kind"], ["processed up to", "number"], ["behind", "number"], ["lease"], ["last seen"]],
      status.consumers.map((each) => [
        printable(each.name), each.kind, `#${each.acknowledged.toLocaleString("en")}`,
        behind(each, status) > 0 ? make("span", { class: "warn" }, behind(each, status).toLocaleString("en")) : "0",
        each.lapsed ? make("span", { class: "bad" }, "lapsed") : each.lease ? duration(each.lease) : "never lapses",
        ago(each.lastSeen)])));
}

function showRemotes(status) {
  const parts = [];
  if ((status.remotes ?? []).length === 0) {
    parts.push(make("p", {}, "The daemon synchronises this store with no remote."));
  } else {
    parts.push(table("Remotes", [["name"], ["address"], ["state"], ["unsent changes"], ["last exchange"], ["error"]],
      status.remotes.map((each) => [
        printable(each.name), printable(each.url), each.state,
        each.behindSince ? make("span", { class: "warn" }, `for ${duration(age(each.behindSince))}`)
          : make("span", { class: "good" }, "none"),
        each.lastSync ? ago(each.lastSync) : "none yet",
        each.error ? make("span", { class: "bad" }, printable(each.error)) : ""])));
  }
  if (status.comparisons.length > 0) {
    parts.push(table("Compared with other replicas", [["replica"], ["when"], ["outcome"]],
      status.comparisons.map((each) => [
        printable(each.replicaName ?? each.replica), ago(new Date(each.time).toISOString()),
        make("span", {},
          each.equal ? make("span", { class: "good" }, "equal ") : "",
          each.different.length === 0 ? ""
            : make("span", { class: "bad" }, `differs in ${each.different.map(printable).join(", ")} `),
          each.uncompared.length === 0 ? ""
            : `not compared: ${each.uncompared.map(printable).join(", ")}`)])));
  }
  byId("remotes").replaceChildren(...parts);
}
