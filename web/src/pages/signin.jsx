// signin.jsx - who may look: a token, as an operator makes it
import { useState } from "preact/hooks";
import { get, setToken } from "../api.js";
import { start } from "../live.js";
import { Trouble, useTitle } from "../ui.jsx";

export function SignIn() {
    const [text, set] = useState("");
    const [error, setError] = useState(null);
    useTitle("Sign in");
    const submit = async (event) => {
        event.preventDefault();
        setToken(text.trim());
        try {
            await get("/v1/whoami");
            start();
        } catch (failure) {
            setToken("");
            setError(failure);
        }
    };
    return (
        <main class="signin" id="main">
            <h1>
                <img src="/ui/icon.svg" alt="" width="32" height="32" /> Corgi
            </h1>
            <form onSubmit={submit}>
                <label>
                    Token
                    <input type="password" name="token" autocomplete="current-password" required value={text} onInput={(e) => set(e.target.value)} />
                </label>
                <button type="submit" class="primary">
                    Sign in
                </button>
                <Trouble error={error} />
            </form>
            <p class="quiet">
                An operator makes one on the daemon's machine: <code>corgi token make USER --role viewer</code>. It is kept in this tab only.
            </p>
        </main>
    );
}
