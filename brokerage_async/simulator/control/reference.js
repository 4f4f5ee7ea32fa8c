"use strict";
const form = document.getElementById("request");
const token = sessionStorage.getItem("token") || "";

function target() {
  let path = form.dataset.path;
  const query = [];
  for (const field of form.querySelectorAll("input[data-in]")) {
    const { in: place, array, joined } = field.dataset;
    if (place === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    if (place !== "query" || field.value === "") continue;
    const values = array && !joined ? field.value.split(",") : [field.value];
    for (const value of values) query.push(`${encodeURIComponent(field.name)}=${encodeURIComponent(value.trim())}`);
  }
  return query.length ? `${path}?${query.join("&")}` : path;
}

function shown(body) {
  try { return JSON.stringify(JSON.parse(body), null, 2); } catch { return body; }
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const line = document.getElementById("answer-line"), answer = document.getElementById("answer");
  const body = document.getElementById("body")?.value ?? null;
  const sent = { method: form.dataset.method, target: target(), body };
  try {
    const reply = await fetch("/requests", { method: "POST", headers: { Authorization: `Bearer ${token}` }, body: JSON.stringify(sent) });
    const content = await reply.json();
    if (!reply.ok) throw new Error(reply.status === 401 ? "open the address that the simulator printed first: it has the token" : content.error.message);
    line.textContent = `${sent.method} ${sent.target}: ${content.status}`;
    line.className = content.status < 400 ? "good" : "bad";
    answer.textContent = shown(content.body);
    answer.hidden = content.body === "";
  } catch (error) {
    line.textContent = error.message;
    line.className = "bad";
    answer.hidden = true;
  }
});
