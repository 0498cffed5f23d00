// Short messages about what was done, or could not be: any part says them, the frame shows them.
import { createContext, useContext } from "./dom.js";

export const Toasts = createContext(() => {});

/** Return a function that shows a short message: `say("Deleted web-1", "good")`. */
export const useToasts = () => useContext(Toasts);
