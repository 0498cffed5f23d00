// Login: by a one-time link, a token, or a user's name and password.
import * as api from "../api.js";
import { html, useEffect, useRef, useState } from "../dom.js";
import { Failure, Field, Loading, Note, Segments } from "../parts.js";
import { address, go } from "../router.js";
import { Mark } from "../shell.js";

const REFUSAL = "login-refusal"; // id
const TITLES = { password: "Password", token: "Token" };

/** `hasEnded`: the session has ended while a view was open, which `wanted` names; it is shown again after the login. */
export function Login({ methods, hasEnded, onLogin, wanted }) {
  const usable = Object.keys(TITLES).filter((method) => methods.includes(method));
  const [method, setMethod] = useState(usable[0]);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(location.hash.length > 1);
  const [byLink, setByLink] = useState(isBusy);
  const login = async (body) => {
    setBusy(true);
    setError(null);
    try {
      const answer = await api.session("POST", body);
      if (wanted[0] === "login" || !wanted.length) go("/", {}, { replace: true });
      onLogin(answer);
    } catch (failed) {
      setError(failed);
      setBusy(false);
      setByLink(false);
    }
  };
  useEffect(() => {
    document.title = "Log in – Armillary";
    const code = location.hash.slice(1);
    if (!code) return;
    // The code works once; it is not kept in the history.
    history.replaceState(null, "", address("/login"));
    login({ link: code });
  }, []);
  const form = useRef(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), [byLink, hasEnded]); // what had the focus is gone
  const submit = (event) => {
    event.preventDefault();
    if (isBusy) return; // a disabled button would lose the focus
    const given = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
    login(given);
  };

  const wrong = error?.status === 401 ? REFUSAL : null;
  return html`<main class="login">
    <section class="card stack" aria-labelledby="login-title">
      <span class="brand"><${Mark} /><span>Armillary</span></span>
      <h1 id="login-title">Log in</h1>
      ${hasEnded && !error && html`<${Note} tone="warn" role="status">Your session has ended. Log in again to go on where you were.<//>`}
      ${error && html`<${Refusal} error=${error} />`}
      ${usable.length > 1 && html`<${Segments} label="How to log in" value=${method} onChange=${setMethod} options=${usable.map((each) => [each, TITLES[each]])} />`}
      ${byLink ? html`<${Loading} what="Logging in…" />` : html`<form ref=${form} class="stack" aria-busy=${String(isBusy)} onSubmit=${submit}>
        ${method === "token" && html`<${Field} label="Token" error=${wrong} hint="The one that the command line uses, or a link from: armillary console">
          <input name="token" type="password" autocomplete="off" required /><//>`}
        ${method === "password" && html`
          <${Field} label="User" error=${wrong}><input name="username" autocomplete="username" required /><//>
          <${Field} label="Password" error=${wrong}><input name="password" type="password" autocomplete="current-password" required /><//>
          <${Field} label="Project" hint="Optional: your only or first one"><input name="project" autocomplete="off" /><//>
          <details><summary>Domains</summary><div class="stack">
            <${Field} label="Domain of the user"><input name="user_domain" placeholder="Default" /><//>
            <${Field} label="Domain of the project"><input name="project_domain" placeholder="Default" /><//>
          </div></details>`}
        <button class="button primary">${isBusy ? "Logging in…" : "Log in"}</button>
      </form>`}
    </section>
  </main>`;
}

function Refusal({ error }) {
  if (error.status !== 401) return html`<${Failure} error=${error} />`;
  return html`<div class="note bad" role="alert" id=${REFUSAL}><div class="grow">${error.message}</div></div>`;
}
