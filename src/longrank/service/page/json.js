// JSON in which whole numbers beyond 2^53 keep all their digits: they are read as BigInt, and written as numbers.
// Browsers that tell no source of a number (Firefox before 135, Safari before 18.4) round them.

const isLarge = (value) => typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);

const exact = (key, value, context) =>
  isLarge(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;

const plain = (key, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value);

/** Return the value of a JSON text. Throws a SyntaxError. */
export const read = (text) => JSON.parse(text, exact);

/** Return a value as JSON text, in lines if there is an indent. */
export const written = (value, indent) => JSON.stringify(value, plain, indent);
