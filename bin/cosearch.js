#!/usr/bin/env node
import { existsSync } from "node:fs";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(main)) await import(main.href);
else {
  process.stderr.write("cosearch: this clone is not built yet: run  npm run build  in its folder once\n");
  process.exitCode = 1;
}
