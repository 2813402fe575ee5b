/* Tokens of lines, and their elements. Text of the program becomes text nodes only, never markup. */

const COLOURED = new Set([
    "attribute", "comment", "definition", "heading", "keyword", "literal", "location", "op", "preprocessor", "string", "symbol", "type",
]);

const PYTHON_KEYWORDS = new Set((
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield self"
).split(" "));

const PYTHON = new RegExp(
    [
        /(?<comment>#.*$)/, /(?<long>[rRbBuUfFtT]{0,2}(?:"""|'''))/,
        /(?<string>[rRbBuUfFtT]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))/,
        /(?<literal>\b\d[\w.]*)/, /(?<decorator>^\s*@[\w.]+)/, /(?<word>[^\W\d]\w*)/,
    ].map(part => part.source).join("|"),
    "gu",
);

/* Return the tokens of each line of Python; a string over several lines keeps its colour. */
function pythonTokens(lines) {
    let open = null;
    let named = false;
    return lines.map(line => {
        const tokens = [];
        let at = 0;
        const put = (kind, end) => {
            if (end > at) tokens.push([kind, line.slice(at, end)]);
            at = Math.max(at, end);
        };
        const close = from => {
            const end = line.indexOf(open, from);
            if (end < 0) return put("string", line.length);
            put("string", end + 3);
            open = null;
        };
        if (open) close(0);
        named = false;
        PYTHON.lastIndex = at;
        for (let found; at < line.length && !open && (found = PYTHON.exec(line)); PYTHON.lastIndex = at) {
            put("", found.index);
            const {comment, long, string, literal, decorator, word} = found.groups;
            const end = found.index + found[0].length;
            if (long) {
                open = long.slice(-3);
                close(end);
            } else {
                const kind = comment ? "comment" : string ? "string" : literal ? "literal" : decorator ? "symbol" : null;
                put(kind ?? (named ? "definition" : PYTHON_KEYWORDS.has(word) ? "keyword" : ""), end);
                named = word === "def" || word === "class";
            }
        }
        put("", line.length);
        return tokens;
    });
}

/* Return where a text occurs in a line: [[begin, end], ...]; `wanted` is in lower case. */
function occurrences(text, wanted) {
    const found = [];
    if (!wanted) return found;
    const lower = text.toLowerCase();
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) found.push([at, at + wanted.length]);
    return found;
}

/* Append tokens to an element, with at most `most` elements of their own; return how many there are.
   Those that have no colour, and all when `most` is reached, become text. Where the text was searched for, a hit is a `mark`. */
function appendTokens(parent, tokens, most, hits) {
    let made = 0;
    let plain = "";
    let at = 0;
    let hit = 0;
    const flush = () => {
        if (plain) parent.append(plain);
        plain = "";
    };
    const piece = (tag, kind, text) => {
        flush();
        const element = document.createElement(tag);
        if (kind) element.className = `t-${kind}`;
        element.textContent = text;
        parent.append(element);
        made += 1;
    };
    for (const [kind, text] of tokens) {
        const coloured = COLOURED.has(kind) ? kind : "";
        let from = 0;
        while (from < text.length) {
            while (hit < hits.length && hits[hit][1] <= at + from) hit += 1;
            const [begin, end] = hit < hits.length ? hits[hit] : [Infinity, Infinity];
            const inside = begin <= at + from;
            const to = Math.min(text.length, (inside ? end : begin) - at);
            const part = text.slice(from, to);
            if (inside) piece("mark", coloured, part);
            else if (coloured && made < most) piece("span", coloured, part);
            else plain += part;
            from = to;
        }
        at += text.length;
    }
    flush();
    return made;
}

/* Return the kinds of a line of IR with the values that it defines marked as definitions. */
function withDefinitions(tokens) {
    const equals = tokens.findIndex(([, text]) => text.trim() === "=");
    const opens = tokens.findIndex(([, text]) => text.includes("("));
    if (equals < 0 || (opens >= 0 && opens < equals)) return tokens;
    return tokens.map((token, position) => (position < equals && token[0] === "value" ? ["definition", token[1]] : token));
}
