/* Numbers for people. */

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/* Return a number with three digits; what is not finite comes as a string and stays one. */
function number(value) {
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return minus(value.toLocaleString("en"));
    const size = Math.abs(value);
    return minus(size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(3))));
}

function minus(text) {
    return text.replace("-", "−");
}

function scaled(value, unit) {
    const [scale, prefix] = PREFIXES.find(([least]) => value >= least) ?? PREFIXES[PREFIXES.length - 1];
    return `${Number((value / scale).toPrecision(3))} ${prefix}${unit}`;
}

function seconds(value) {
    if (value >= 1) return `${Number(value.toPrecision(3))} s`;
    if (value >= 1e-3) return `${Number((value * 1e3).toPrecision(3))} ms`;
    return `${Number((value * 1e6).toPrecision(3))} µs`;
}

function bytes(value) {
    return scaled(value, "B");
}

function count(value) {
    return value.toLocaleString("en");
}

function plural(amount, one, many = `${one}s`) {
    return `${count(amount)} ${amount === 1 ? one : many}`;
}

function percent(share) {
    const value = share * 100;
    return `${value > 0 && value < 1 ? "<1" : Math.round(value)} %`;
}

/* Return how fast a kernel ran, by what bounds it: operations where there are many for each byte, else bytes. */
function rate(runs) {
    if (!runs.seconds) return "";
    if (runs.flops && (!runs.bytes || runs.flops >= 4 * runs.bytes)) return scaled(runs.flops / runs.seconds, "FLOP/s");
    return runs.bytes ? scaled(runs.bytes / runs.seconds, "B/s") : "";
}

/* Return the values of a node in a few words. */
function values(seen) {
    const has = value => value !== undefined && value !== null;
    const parts = has(seen.smallest) ? [`${number(seen.smallest)} … ${number(seen.largest)}`] : [];
    if (seen.zeros) parts.push(`${percent(seen.zeros)} zero`);
    if (seen.not_finite) parts.push(`${count(seen.not_finite)} not finite`);
    if (has(seen.norm)) parts.push(`gradient norm ${number(seen.norm)}`);
    return parts.join(" · ");
}
