// Start: find the session, then show the view of the address.
import * as api from "./api.js";
import { html, render, useCallback, useEffect, useState } from "./dom.js";
import { Failure, Loading, Title } from "./parts.js";
import { followLinks, go, useAddress } from "./router.js";
import { rememberFleet, Session } from "./session.js";
import { Shell } from "./shell.js";
import { Login } from "./login/login_view.js";
import { View } from "./views.js";

const LOGIN = "login";
const otherTabs = new BroadcastChannel("armillary-session"); // which share the session

function App() {
  const { parts, query } = useAddress();
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const accept = useCallback((answer) => {
    api.useSession(answer.session, () => setFound((old) => ({ ...old, session: null, hasEnded: true })));
    rememberFleet(answer.session);
    setFound((old) => ({ ...answer, hasEnded: Boolean(old?.session) && !answer.session }));
    setError(null);
  }, []);
  const load = useCallback(() => api.session("GET").then(accept, setError), []);
  useEffect(() => {
    load();
    otherTabs.onmessage = () => api.session("GET").then(accept, () => {});
  }, []);

  if (error) return html`<main><${Title} text="Console" /><${Failure} error=${error} retry=${load} /></main>`;
  if (!found) return html`<${Loading} what="Loading the console…" />`;
  const login = (answer) => {
    accept(answer);
    otherTabs.postMessage(LOGIN);
  };
  // A link opens a session even where there is one already: it may be of another user.
  const hasLink = parts[0] === LOGIN && location.hash.length > 1;
  if (!found.session || hasLink) return html`<${Login} methods=${found.methods} hasEnded=${found.hasEnded} onLogin=${login} wanted=${parts} />`;
  const logout = async () => {
    try {
      await api.session("DELETE");
    } catch (failed) {
      return failed.status === 0 ? "You are still logged in: the API does not answer." : `You are still logged in: ${failed.message}`;
    }
    otherTabs.postMessage("logout");
    setFound({ ...found, session: null, hasEnded: false });
    go("/login");
    return null;
  };
  return html`<${Session.Provider} value=${found.session}>
    <${Shell} key=${found.session.csrf_token} parts=${parts} onLogout=${found.methods.includes("none") ? null : logout}>
      <${View} parts=${parts} query=${query} />
    <//>
  <//>`;
}

document.addEventListener("click", followLinks);
render(html`<${App} />`, Object.assign(document.getElementById("app"), { textContent: "" }));
