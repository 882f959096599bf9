// The page: which store and which view, what is refreshed when, and the keys. Nothing runs while the page is hidden.

import { Conflicts } from "/conflicts.js";
import { showLife } from "/object.js";
import { showStatus, Stores } from "/overview.js";
import { Plots } from "/plots.js";
import { call } from "/service.js";
import { byId, printable } from "/text.js";
import { Timeline } from "/timeline.js";

const views = ["timeline", "object", "conflicts", "consumers", "remotes"];
const period = 3000;
let store = null;
let view = "timeline";

function setState(state, reason = "") {
  const text = { connecting: "connecting", live: "live", lost: `not connected: ${reason}` };
  if (byId("connection").textContent !== text[state]) byId("connection").textContent = text[state];
  byId("connection").className = state;
}

function openObject(object) {
  setView("object");
  byId("object-name").focus();
  return showLife(store, object, openObject);
}

const plots = new Plots();
const conflicts = new Conflicts({ open: openObject, resolved: () => { refreshStatus(); conflicts.show(store); } });
const stores = new Stores(choose);
const timeline = new Timeline({ plots, open: openObject, changed: refreshStatus, state: setState });

function choose(path) {
  store = path;
  stores.mark(path);
  byId("nothing").hidden = true;
  byId("store").hidden = false;
  byId("store-title").textContent = printable(path);
  document.title = `${printable(path.slice(path.lastIndexOf("/") + 1))} – syncd`;
  sessionStorage.setItem("syncd-store", path);
  byId("life").replaceChildren();
  plots.reset();
  timeline.show(path);
  refreshStatus();
  if (view === "conflicts") conflicts.show(path);
}

function setView(next) {
  view = next;
  for (const each of views) {
    byId(each).hidden = each !== next;
    byId(`tab-${each}`).setAttribute("aria-selected", String(each === next));
    byId(`tab-${each}`).tabIndex = each === next ? 0 : -1;
  }
  if (next === "conflicts" && store) conflicts.show(store);
}

let isRefreshing = false;
async function refreshStatus() {
  if (!store || isRefreshing || document.hidden) return;
  isRefreshing = true;
  const path = store;
  try {
    const status = await call("status", { store: path });
    if (path === store) showStatus(status);
  } catch (error) {
    byId("problem").hidden = false;
    byId("problem").textContent = error.message;
  }
  isRefreshing = false;
}

async function refreshAll() {
  if (document.hidden) return;
  try {
    await stores.load();
    if (!store || !stores.has(store)) {
      const last = sessionStorage.getItem("syncd-store");
      const first = stores.has(last) ? last : stores.first;
      if (first) choose(first);
      else setState("live");
    }
    await Promise.all([stores.refreshLag(), refreshStatus()]);
  } catch (error) {
    setState("lost", error.message);
  }
}

for (const each of views) {
  byId(`tab-${each}`).addEventListener("click", () => setView(each));
}
byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  setView(views[(views.indexOf(view) + step + views.length) % views.length]);
  byId(`tab-${view}`).focus();
});
byId("object-form").addEventListener("submit", (event) => {
  event.preventDefault();
  openObject(byId("object-name").value.trim());
});
byId("help-button").addEventListener("click", () => byId("help").showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, dialog")) return;
  const key = event.key;
  if (key === "/") byId("filter").focus();
  else if (key === "?") byId("help").showModal();
  else if (store && key >= "1" && key <= String(views.length)) setView(views[Number(key) - 1]);
  else if (store && key === "p") timeline.togglePause();
  else if (store && view === "timeline" && (key === "j" || key === "k")) timeline.move(key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return timeline.stop();
  if (store) timeline.show(store);
  refreshAll();
});

(async () => {
  for (;;) {
    await refreshAll();
    await new Promise((resolve) => setTimeout(resolve, period));
  }
})();
