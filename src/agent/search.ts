export type { Search, SearchRequest } from "../retrieval/search.ts";
