/** The facts of the world: one value a country and relation, cleaned, with nothing that gives another answer away. */
import { Rng } from "../../src/rng.ts";
import { firstValue, holdsWords, plain, surnamesInTitleCase } from "./clean.ts";
import { currencyNames, factbookProfiles, nationalDishes, type Profile } from "./sources.ts";

/** One seed names the world: which facts are told, how, and the split are drawn from it. */
export const worldSeed = 1;

/** A country with the facts that the world tells of it. */
export interface Country {
  readonly name: string;
  /** Value by relation id, in the order of `relations`. */
  readonly values: ReadonlyMap<string, string>;
  /** Larger cities other than the capital, at most three. */
  readonly cities: readonly string[];
}

const fewestFacts = 7;
/** Facts told of one country: few enough that ten candidates show most of what is known about it. */
const mostFacts = 9;
const mostCities = 3;

/** Every country with enough facts. Pure in the installed packages. */
export function readCountries(): Country[] {
  const dishes = nationalDishes();
  const currencyOf = currencyNames();
  const countries: Country[] = [];
  for (const profile of factbookProfiles()) {
    const name = countryName(profile);
    if (name === undefined) continue;
    const values = unambiguous(name, {
      capital: withoutArticle(profile.text("Government", "Capital", "name")?.replace(/ in Romanian.*/, "")),
      highest: highestPoint(profile),
      leader: leader(profile),
      anthem: anthem(profile),
      port: port(profile),
      dish: capitalised(firstValue(dishes.get(name))),
      symbol: symbol(profile),
      product: product(profile),
      partner: partner(profile, name),
      religion: capitalised(religion(profile)),
      currency: currency(currencyOf(name), profile),
      demonym: demonym(profile),
      domain: plain(profile.text("Communications", "Internet country code") ?? "").match(/^\.[a-z]{2}\b/)?.[0],
    });
    if (values.size >= fewestFacts) countries.push({ name, values: someFacts(name, values), cities: cities(profile, values) });
  }
  return countries;
}

function capitalised(value: string | undefined): string | undefined {
  return value === undefined ? undefined : value.charAt(0).toUpperCase() + value.slice(1);
}

/** At most `mostFacts` of the values, drawn from the country's name, so that every relation stays common. */
function someFacts(country: string, values: ReadonlyMap<string, string>): Map<string, string> {
  const kept = new Set(
    Rng.stream(worldSeed, "facts", country)
      .shuffle([...values.keys()])
      .slice(0, mostFacts),
  );
  return new Map([...values].filter(([relation]) => kept.has(relation)));
}

const renamed: Readonly<Record<string, string>> = {
  DRC: "DR Congo",
  Congo: "Congo Republic",
  Dominican: "Dominican Republic",
  Cocos: "Cocos Islands",
};

function countryName(profile: Profile): string | undefined {
  const short = profile.text("Government", "Country name", "conventional short form");
  const long = profile.text("Government", "Country name", "conventional long form");
  const chosen = short === undefined || /none/.test(short) ? long : short;
  if (chosen === undefined) return undefined;
  const name = plain(chosen.replace(/[(;].*/, ""))
    .replace(/^The /i, "")
    .replace(/, The$/i, "");
  if (name.split(" ").length > 3 || /note|none/.test(name)) return undefined;
  return renamed[name] ?? name;
}

/** "The Valley" and "The Hague" would lose their article in scoring: left out. */
function withoutArticle(field: string | undefined): string | undefined {
  return field === undefined || /^the /i.test(field) ? undefined : firstValue(field);
}

function highestPoint(profile: Profile): string | undefined {
  const field = profile.text("Geography", "Elevation extremes", "highest point");
  const value = firstValue(field?.replace(/[~-]?[\d,.]+ ?m\b.*/, "").replace(/^Mt\. /, "Mount "));
  return value === undefined || / on /.test(value) ? undefined : value;
}

const offices =
  /^(?:(?:Interim|Transitional|Executive|Supreme|President|King|Queen|Prime|Minister|Emir|Amir|Sultan|Grand|Duke|Prince|Co-Prince|Chairman|Captain|Regent|Emperor|Pope|Governor|General|Leader|Sovereign|Speaker|and|of Australia|of China|Brig\.|Maj\.|Lt\.|Gen\.|Col\.|Dr\.|Sir|Ratu|\(ret\.\)) )+/i;

/** The chief of state in 2015. */
function leader(profile: Profile): string | undefined {
  const field = profile.text("Government", "Executive branch", "chief of state");
  if (field === undefined || /vacant|co-chiefs|House of/.test(field.slice(0, 60))) return undefined;
  const value = firstValue(field.replace(offices, ""));
  return value === undefined || / of | and /.test(value) ? undefined : surnamesInTitleCase(value);
}

function anthem(profile: Profile): string | undefined {
  const quoted = profile.text("Government", "National anthem", "name")?.match(/"([^"]+)"/)?.[1];
  const value = firstValue(quoted?.replace(/,/g, ""), /[;(]/);
  return value === undefined || value.length < 4 || /anthem|himno nacional$|^hymn/i.test(value) ? undefined : value;
}

function port(profile: Profile): string | undefined {
  const value = withoutArticle(profile.text("Transportation", "Ports and terminals", "major seaport(s)")?.replace(/^.* - /, ""));
  return value === undefined || / and | in |Ocean|\barea\b/.test(value) ? undefined : value;
}

function symbol(profile: Profile): string | undefined {
  const value = firstValue(profile.text("Government", "National symbol(s)"));
  const remark = /colou?rs?\b|^(?:ten|six|five|three|four|two|white|yellow|red|blue|green|black)$|surmounted/i;
  return value === undefined || remark.test(value) ? undefined : value.replace(/ (?:symbol|emblem)$/, "");
}

function product(profile: Profile): string | undefined {
  const value = firstValue(profile.text("Economy", "Exports - commodities"));
  return value === undefined || /^(?:reexports|commodities|see|goods|mainland|offshore)\b/i.test(value) ? undefined : value;
}

const spelledOut: Readonly<Record<string, string>> = {
  US: "United States",
  UK: "United Kingdom",
  UAE: "United Arab Emirates",
  NZ: "New Zealand",
};

function partner(profile: Profile, country: string): string | undefined {
  const field = profile.text("Economy", "Exports - partners")?.replace(/ [\d.]+%.*/, "");
  const name = field === undefined ? undefined : (spelledOut[field.trim()] ?? firstValue(field));
  return name === undefined || name === country || /europe|regional|countries/i.test(name) ? undefined : name;
}

function religion(profile: Profile): string | undefined {
  const field = profile.text("People and Society", "Religions");
  return firstValue(
    field
      ?.replace(/(?:religious affiliation|note).*/i, "")
      .replace(/^mainland - /i, "")
      .replace(/^(?:nominally|predominantly|mostly) /i, "")
      .replace(/ [\d.]+.*/, ""),
  );
}

function demonym(profile: Profile): string | undefined {
  const field = profile.text("People and Society", "Nationality", "adjective");
  return field === undefined || field.includes("/") ? undefined : firstValue(field.split(" or ")[0]);
}

const sharedUnits =
  /\b(?:dollar|franc|peso|pound|dinar|rupee|rial|riyal|krone|krona|shilling|won|dirham|ruble|lira|real|leu|som|colon|yuan|mark|gold)$/i;

/** "Peruvian Sol" -> "Sol", so that the demonym is not given away; units shared by many countries keep their adjective. */
function currency(name: string | undefined, profile: Profile): string | undefined {
  const value = firstValue(name);
  const adjective = demonym(profile);
  if (value === undefined || adjective === undefined || sharedUnits.test(value) || !value.startsWith(`${adjective} `)) return value;
  return firstValue(value.slice(adjective.length + 1));
}

function cities(profile: Profile, values: ReadonlyMap<string, string>): string[] {
  const field = profile.text("People and Society", "Major urban areas - population") ?? "";
  const names = field.split(";").map((item) => withoutArticle(plain(item.replace(/\(.*?\)/g, "")).replace(/ [\d.,]+.*/, "")));
  const kept = names.filter((name): name is string => name !== undefined && name.split(" ").length <= 3 && !/[A-Z]{3}/.test(name));
  return kept.filter((name) => ![...values.values()].some((value) => holdsWords(value, name))).slice(0, mostCities);
}

/**
 * Drops a value that stands in the country's name or in another of its values: every passage about the country would
 * look like an answer. Of two that clash the later relation of the list gives way.
 */
function unambiguous(country: string, candidates: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const kept = new Map<string, string>();
  for (const [relation, value] of Object.entries(candidates)) {
    if (value === undefined || holdsWords(country, value)) continue;
    const clash = relation !== "domain" && [...kept.values()].some((other) => holdsWords(other, value) || holdsWords(value, other));
    if (!clash) kept.set(relation, value);
  }
  return kept;
}
