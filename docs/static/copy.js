// A button on each block of code that copies it. Loads nothing.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = Object.assign(document.createElement("button"), { textContent: "Copy", className: "copy" })
    button.onclick = async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent)
      button.textContent = "Copied"
      setTimeout(() => (button.textContent = "Copy"), 1500)
    }
    block.append(button)
  }
})
