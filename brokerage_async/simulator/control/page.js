"use strict";
// The token comes after # of the address, which browsers do not send anywhere.
const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", token);
history.replaceState(null, "", location.pathname);

const byId = (id) => document.getElementById(id);
const message = (text, bad = false) => { byId("message").textContent = text; byId("message").className = bad ? "bad" : ""; };
const series = new Map();

async function call(method, path, body) {
  const answer = await fetch(path, {
    method, headers: { Authorization: `Bearer ${token}` }, body: body === undefined ? undefined : JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.message);
  return content;
}

async function act(what, method, path, body) {
  try { await call(method, path, body); message(what); await refresh(); } catch (error) { message(error.message, true); }
}

function rows(id, items, cells) {
  const body = byId(id).tBodies[0];
  const fresh = items.map((item) => cells(item).map((cell) => (cell instanceof Node ? cell : String(cell ?? ""))));
  const key = JSON.stringify(fresh.map((row) => row.map((cell) => (cell instanceof Node ? cell.outerHTML : cell))));
  if (body.dataset.key === key) return; // the focus stays where it is
  const focused = document.activeElement?.dataset?.focus;
  body.dataset.key = key;
  body.replaceChildren(...fresh.map((row) => {
    const line = document.createElement("tr");
    row.forEach((cell) => line.insertCell().append(cell));
    return line;
  }));
  if (focused) body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
}

function button(label, order, run) {
  const made = document.createElement("button");
  made.textContent = label;
  made.dataset.focus = `${label} ${order.id}`;
  made.setAttribute("aria-label", `${label} order ${order.id}`);
  made.addEventListener("click", run);
  return made;
}

function actions(order) {
  const box = document.createElement("span");
  if (order.is_terminal) return box;
  const path = `/orders/${order.id}`;
  box.append(
    button("Fill", order, () => act(`Filled ${order.id}`, "POST", `${path}/fill`, {})),
    button("Fill part", order, () => {
      const quantity = prompt(`Quantity of order ${order.id} to fill`, "1");
      if (quantity) act(`Filled ${quantity} of ${order.id}`, "POST", `${path}/fill`, { quantity });
    }),
    button("Reject", order, () => act(`Rejected ${order.id}`, "POST", `${path}/reject`, {})),
    button("Expire", order, () => act(`Expired ${order.id}`, "POST", `${path}/expire`)),
  );
  return box;
}

function chart(price) {
  const points = series.get(price.symbol) ?? [];
  points.push(Number(price.last));
  series.set(price.symbol, points.slice(-120));
  const low = Math.min(...points), span = Math.max(...points) - low || 1;
  const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  box.setAttribute("width", 120); box.setAttribute("height", 24); box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${price.symbol} from ${points[0]} to ${price.last}`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.slice(-120).map((value, at) => `${at},${22 - (20 * (value - low)) / span}`).join(" "));
  box.append(line);
  return box;
}

const clockOf = (time) => (time ?? "").slice(11, 23);

async function refresh() {
  const state = await call("GET", "/state");
  byId("clock").textContent = state.clock.time.slice(0, 19).replace("T", " ") + " UTC";
  byId("speed").textContent = state.clock.speed ? `at speed ${state.clock.speed}` : "stopped";
  rows("orders", state.orders, (each) => [each.id, each.account_number, each.description, each.status, `${each.filled} of ${each.size}`, actions(each)]);
  rows("prices", state.prices, (each) => [each.symbol + (each.is_held ? " (held)" : ""), each.last, each.bid, each.ask, chart(each)]);
  rows("accounts", state.accounts, (each) => [`${each.number} ${each.kind}`, each.cash, each.equity, each.buying_power]);
  rows("positions", state.accounts.flatMap((account) => account.positions.map((each) => [account.number, each])), ([number, each]) => [number, each.symbol, each.quantity, each.average_price, each.price]);
  rows("alerts", state.alerts, (each) => [each.symbol, each.condition, clockOf(each.triggered_at)]);
  rows("faults", state.faults, (each) => [each.fault, each.method, each.path, each.times ?? "all"]);
  rows("events", state.ledger.events.toReversed(), (each) => [clockOf(each.at), each.order_id, each.before, each.after]);
  rows("requests", state.ledger.requests.toReversed(), (each) => [clockOf(each.at), `${each.method} ${each.target}`, each.operation, each.status, each.fault]);
}

const number = (text) => (text === "" ? null : Number(text));
const forms = {
  advance: (field) => act("Advanced", "PATCH", "/clock", { advance: Number(field.advance) }),
  speed: (field) => act("Speed set", "PATCH", "/clock", { speed: Number(field.speed) }),
  price: (field) => act("Price set", "PUT", `/prices/${encodeURIComponent(field.symbol)}`, { price: field.price || null }),
  fault: (field) => act("Fault added", "POST", "/faults", { fault: field.fault, method: field.method, path: field.path, times: number(field.times) }),
  limit: (field) => act("Limit set", "PUT", "/rate-limit", { requests_per_second: number(field.rate) }),
  tokens: () => act("Access tokens expired", "POST", "/tokens/expire"),
};
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    forms[form.dataset.action](Object.fromEntries(new FormData(form)));
  });
}
document.querySelector("[data-speed]").addEventListener("click", () => act("Clock stopped", "PATCH", "/clock", { speed: 0 }));
document.querySelector("[data-clear]").addEventListener("click", () => act("Faults cleared", "DELETE", "/faults"));

(async () => {
  for (;;) {
    try { await refresh(); } catch (error) { message(error.message, true); }
    await new Promise((done) => setTimeout(done, 500));
  }
})();
