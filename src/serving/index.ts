/** Entry point `cosearch/serving`. */

export { createRetrievalServer, type ListenOptions, type RetrievalServer, type RetrievalServerOptions } from "./retrieval-server.ts";
