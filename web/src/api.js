// api.js - requests to the daemon, with the token of whoever signed in
//
// The token lives as long as the tab.  A link may bring one behind #token=; it is taken out
// of the address at once.

const place = "corgi-token";

export class ApiError extends Error {
    constructor(status, body) {
        super(body?.error?.message ?? (status ? `the daemon answered ${status}` : "the daemon does not answer"));
        this.status = status;
        this.field = body?.error?.field;
        this.quote = body?.error?.quote;
    }
}

export function token() {
    return sessionStorage.getItem(place);
}

export function setToken(text) {
    if (text) sessionStorage.setItem(place, text);
    else sessionStorage.removeItem(place);
}

export function takeTokenFromAddress() {
    const found = /^#token=([\w-]+)$/.exec(location.hash);
    if (!found) return;
    setToken(found[1]);
    history.replaceState(null, "", location.pathname);
}

export function headers(more) {
    const all = { ...more };
    if (token()) all.Authorization = `Bearer ${token()}`;
    return all;
}

async function call(method, path, body, options = {}) {
    let answer;
    try {
        answer = await fetch(path, {
            method,
            headers: headers({ ...(body ? { "Content-Type": "application/json" } : {}), ...options.headers }),
            body: body ? JSON.stringify(body) : undefined,
            signal: options.signal,
            cache: "no-store",
        });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0);
    }
    const json = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (!answer.ok) throw new ApiError(answer.status, json);
    return json;
}

export const get = (path, options) => call("GET", path, null, options);
export const post = (path, body, options) => call("POST", path, body, options);
export const remove = (path, options) => call("DELETE", path, null, options);
export const patch = (path, body, options) => call("PATCH", path, body, options);

// "?a=1&b=2" of the members that have a value.
export function query(members) {
    const pairs = Object.entries(members).filter(([, value]) => value !== undefined && value !== null && value !== "");
    return pairs.length ? "?" + new URLSearchParams(pairs) : "";
}
