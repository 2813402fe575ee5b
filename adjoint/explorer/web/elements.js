/* Elements of the page. */

/* Return a new element: attributes by name, functions as listeners, children as elements or text. */
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name, value);
        else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
}

function byId(id) {
    return document.getElementById(id);
}

/* Say something to those who listen to the page. */
function say(text) {
    byId("said").textContent = text;
}
