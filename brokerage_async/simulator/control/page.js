"use strict";
// The token comes after # of the address, which browsers do not send anywhere.
const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", token);
history.replaceState(null, "", location.pathname);

const byId = (id) => document.getElementById(id);
const message = (text, bad = false) => { byId("message").textContent = text; byId("message").className = bad ? "bad" : ""; };

async function call(method, path, body) {
  const answer = await fetch(path, {
    method, headers: { Authorization: `Bearer ${token}` }, body: body === undefined ? undefined : JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.message);
  return content;
}

async function act(what, method, path, body, fields = []) {
  for (const field of fields) { field.removeAttribute("aria-invalid"); field.parentElement.querySelector(".wrong")?.remove(); }
  try { await call(method, path, body); message(what); await refresh(); } catch (error) {
    message(error.message, true);
    const field = fields.find((each) => error.message.includes(each.name)) ?? fields[0];
    if (!field) return;
    field.setAttribute("aria-invalid", "true");
    field.after(element("span", { class: "wrong bad", role: "alert" }, error.message));
  }
}

function element(name, attributes = {}, ...children) {
  const made = /^(svg|poly)/.test(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value); else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A row is built again only when its values change, and stays in place, so that the focus and what is being typed stay.
function rows(id, items, key, cells) {
  const body = byId(id).tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const fresh = items.map((item) => {
    const values = JSON.stringify(item);
    const known = old.get(key(item));
    if (known?.dataset.values === values) return known;
    const row = element("tr", { "data-key": key(item), "data-values": values }, ...cells(item).map(cell));
    const focus = known?.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
    if (focus) requestAnimationFrame(() => (row.querySelector(`[data-focus="${focus}"]:not([disabled])`) ?? row.querySelector("button:not([disabled])") ?? byId(id).parentElement).focus());
    return row;
  });
  const kept = new Set(fresh);
  for (const row of [...body.rows]) if (!kept.has(row)) row.remove();
  let next = body.firstElementChild;
  for (const row of fresh) {
    if (row === next) next = next.nextElementSibling; else body.insertBefore(row, next);
  }
}

const cell = (content) => {
  if (content instanceof Node) return content.nodeName.toLowerCase() === "td" ? content : element("td", {}, content);
  return element("td", {}, String(content ?? ""));
};
const num = (value, name = "") => element("td", { class: `num ${name}` }, grouped(value));
const grouped = (value) => String(value ?? "").replace(/\B(?=(\d{3})+(?!\d)(?=\.|$))/g, (_, digits, at, whole) => (whole.lastIndexOf(".", at) >= 0 ? "" : ","));
const PLACE = { timeZone: "America/New_York" };
const clockOf = (time) => (time ? element("time", { datetime: time }, new Date(time).toLocaleTimeString("en-GB", { ...PLACE, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 })) : "");
const tones = { Filled: "good", Live: "wait", Routed: "wait", Received: "wait", Contingent: "quiet", Rejected: "bad", Cancelled: "quiet", Expired: "quiet" };
const pill = (status) => element("span", { class: `pill ${tones[status] ?? "wait"}` }, status);

function button(label, name, run, enabled = true) {
  const made = element("button", { type: "button", "data-focus": label, "aria-label": name, onclick: run }, label);
  made.disabled = !enabled;
  return made;
}

function actions(order) {
  if (order.is_terminal) return "";
  const path = `/orders/${order.id}`;
  const left = String(Number(order.size) - Number(order.filled));
  const quantity = element("input", { inputmode: "decimal", value: left, name: "quantity", "data-focus": "quantity", "aria-label": `Quantity of order ${order.id} to fill` });
  const price = element("input", { inputmode: "decimal", placeholder: "price", name: "price", "data-focus": "price", "aria-label": `Price of order ${order.id}, by default the market's` });
  const fill = () => act(`Filled ${quantity.value} of order ${order.id}`, "POST", `${path}/fill`, { quantity: quantity.value === left ? null : quantity.value, price: price.value || null }, [quantity, price]);
  for (const field of [quantity, price]) {
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") fill(); });
    field.disabled = !order.can_fill;
  }
  return element("span", { class: "group" },
    quantity, price,
    button("Fill", `Fill order ${order.id}`, fill, order.can_fill),
    button("Reject", `Reject order ${order.id}`, () => act(`Rejected order ${order.id}`, "POST", `${path}/reject`, {}), order.can_reject),
    button("Expire", `Expire order ${order.id}`, () => act(`Expired order ${order.id}`, "POST", `${path}/expire`), order.can_expire),
    button("Remove", `Remove order ${order.id}`, () => act(`Removed order ${order.id}`, "POST", `${path}/remove`, {}), order.can_remove),
    order.is_held
      ? button("Release", `Release order ${order.id}`, () => act(`Released order ${order.id}`, "POST", `${path}/release`))
      : button("Hold", `Hold order ${order.id}`, () => act(`Held order ${order.id}`, "POST", `${path}/hold`, {})),
  );
}

function bust(fill) {
  const price = element("input", { inputmode: "decimal", placeholder: "price", name: "price", "data-focus": "price", "aria-label": `Right price of fill ${fill.id}, none to make it void` });
  const run = () => act(price.value ? `Corrected fill ${fill.id}` : `Busted fill ${fill.id}`, "POST", `/orders/${fill.order_id}/bust`, { fill_id: fill.id, price: price.value || null }, [price]);
  return element("span", { class: "group" }, price, button("Bust", `Bust or correct fill ${fill.id}`, run));
}

function chart(price) {
  const points = price.history.map(Number);
  const low = Math.min(...points), span = Math.max(...points) - low || 1;
  const line = points.map((value, at) => `${at},${(30 - (26 * (value - low)) / span).toFixed(1)}`).join(" ");
  const moved = ((points.at(-1) / points[0] - 1) * 100).toFixed(2);
  const label = `${price.symbol}: ${moved} % within an hour, from ${points[0]} to ${price.last}, low ${low}, high ${low + span}`;
  return element("td", { class: `chart ${moved < 0 ? "down" : "up"}` },
    element("svg", { viewBox: "0 0 60 34", preserveAspectRatio: "none", role: "img", "aria-label": label },
      element("polygon", { points: `0,34 ${line} 60,34` }), element("polyline", { points: line })));
}

function readable(target) {
  try { return decodeURI(target); } catch { return target; }
}

function duration(request) {
  if (request.milliseconds === null) return element("span", { class: "quiet" }, "under way");
  return element("meter", { max: 100, value: Math.min(100, request.milliseconds), high: 50, "aria-hidden": "true" });
}

const SWITCHES = [
  ["status(503)", "Unavailable (503)"], ["after_status(500)", "Processed, then 500"], ["rate_limited", "Too many requests (429)"],
  ["unauthorized", "Token refused (401)"], ["drop_before", "Connection drops before"], ["drop_after", "Connection drops after"],
  ["delay(2)", "Two seconds late"], ["garbage", "Answers are not JSON"],
];
for (const [fault, label] of SWITCHES) {
  const rule = { fault, method: "*", path: ".*" };
  const box = element("input", { type: "checkbox", role: "switch", "data-fault": fault });
  box.addEventListener("change", () => (box.checked
    ? act(`Fault on: ${label}`, "POST", "/faults", { ...rule, times: null })
    : act(`Fault off: ${label}`, "POST", "/faults/remove", rule)));
  byId("switches").append(element("label", {}, box, label));
}

function show(state) {
  byId("clock").textContent = new Date(state.clock.time).toLocaleString("en-GB", { ...PLACE, weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" }) + " New York";
  byId("clock").dateTime = state.clock.time;
  byId("clock").title = state.clock.time;
  byId("speed").textContent = state.clock.speed ? `×${state.clock.speed}` : "paused";
  byId("speed").className = `pill ${state.clock.speed ? "good" : "wait"}`;
  for (const each of document.querySelectorAll("[data-speed]")) each.setAttribute("aria-pressed", Number(each.dataset.speed) === state.clock.speed);
  byId("pause").setAttribute("aria-pressed", state.clock.speed === 0);
  byId("limit").textContent = state.rate_limit === null ? "" : state.rate_limit === "published" ? "published rates" : `at most ${state.rate_limit} per second`;
  const on = new Set(state.faults.filter((each) => each.times === null && each.method === "*" && each.path === ".*").map((each) => each.fault));
  for (const box of document.querySelectorAll("[data-fault]")) box.checked = on.has(box.dataset.fault);
  rows("orders", state.orders, (each) => each.id, (each) => [each.id, each.account_number, element("td", { class: "fill" }, each.description), each.trigger ?? "", pill(each.status), num(`${grouped(each.filled)} / ${each.size}`), actions(each)]);
  rows("prices", state.prices, (each) => each.symbol, (each) => [each.is_held ? element("span", {}, each.symbol, " ", element("span", { class: "pill wait" }, "held")) : each.symbol, num(each.last), num(each.bid, "quiet"), num(each.ask, "quiet"), chart(each)]);
  rows("accounts", state.accounts.map(({ positions, ...rest }) => rest), (each) => each.number, (each) => [each.number, each.kind, num(each.cash), num(each.equity), num(each.buying_power)]);
  rows("positions", state.accounts.flatMap((account) => account.positions.map((each) => ({ ...each, account: account.number }))), (each) => `${each.account} ${each.symbol}`, (each) => [each.account, each.symbol, num(each.quantity), num(each.average_price), num(each.price), each.greeks ?? ""]);
  rows("fills", state.fills, (each) => `${each.order_id} ${each.id}`, (each) => [clockOf(each.at), each.order_id, each.action, num(each.quantity), each.symbol, num(each.price), bust(each)]);
  rows("alerts", state.alerts, (each) => `${each.symbol} ${each.condition} ${each.created_at}`, (each) => [each.symbol, each.condition, clockOf(each.created_at), each.triggered_at ? clockOf(each.triggered_at) : element("span", { class: "quiet" }, "waiting")]);
  rows("faults", state.faults, (each) => JSON.stringify(each), (each) => [each.fault, each.method, each.path, num(each.times ?? "all"), button("Remove", `Remove fault ${each.fault}`, () => act(`Removed ${each.fault}`, "POST", "/faults/remove", { fault: each.fault, method: each.method, path: each.path }))]);
  rows("events", state.ledger.events.toReversed(), (each) => String(each.seq), (each) => [clockOf(each.at), each.order_id, each.before ? pill(each.before) : "", pill(each.after)]);
  rows("requests", state.ledger.requests.toReversed(), (each) => String(each.seq), (each) => [clockOf(each.at), each.method, element("td", { class: "fill" }, readable(each.target)), each.operation, num(each.status ?? "–", each.status >= 400 ? "bad" : "good"), num(each.milliseconds?.toFixed(1)), element("td", { class: "bar" }, duration(each)), each.fault ? element("span", { class: "bad" }, each.fault) : ""]);
}

const refresh = async () => show(await call("GET", "/state"));

const number = (text) => (text === "" ? null : Number(text));
const forms = {
  price: (field) => ["Price set", "PUT", `/prices/${encodeURIComponent(field.symbol)}`, { price: field.price || null }],
  fault: (field) => ["Fault added", "POST", "/faults", { fault: field.fault, method: field.method, path: field.path, times: number(field.times) }],
  limit: (field) => ["Limit set", "PUT", "/rate-limit", { requests_per_second: number(field.rate) }],
  tokens: () => ["Access tokens expired", "POST", "/tokens/expire"],
  revoke: () => ["Grant revoked", "POST", "/tokens/revoke"],
  cash: (field) => ["Cash moved", "POST", `/accounts/${encodeURIComponent(field.account)}/cash`, { amount: field.amount }],
  watchlist: (field) => ["Watchlist published", "POST", "/published-watchlists", { watchlist: field.watchlist, symbols: field.symbols.split(/[\s,]+/).filter(Boolean) }],
};
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [what, method, path, body] = forms[form.dataset.action](Object.fromEntries(new FormData(form)));
    act(what, method, path, body, [...form.querySelectorAll("input")]);
  });
}
const ALL = "*";
byId("hold-all").addEventListener("click", () => act("Orders on their way are held", "POST", `/orders/${ALL}/hold`, { status: "Routed" }));
byId("release-all").addEventListener("click", () => act("All orders released", "POST", `/orders/${ALL}/release`));
const setSpeed = (speed) => act(speed ? `Clock at speed ${speed}` : "Clock paused", "PATCH", "/clock", { speed });
byId("pause").addEventListener("click", () => setSpeed(byId("pause").getAttribute("aria-pressed") === "true" ? 1 : 0));
for (const each of document.querySelectorAll("[data-speed]")) each.addEventListener("click", () => setSpeed(Number(each.dataset.speed)));
for (const each of document.querySelectorAll("[data-advance]")) {
  each.addEventListener("click", () => act(`Clock moved: ${each.textContent}`, "PATCH", "/clock", { advance: Number(each.dataset.advance) }));
}

(async () => {
  for (;;) {
    try { if (!document.hidden) await refresh(); } catch (error) { message(error.message, true); }
    await new Promise((done) => setTimeout(done, 400));
  }
})();
