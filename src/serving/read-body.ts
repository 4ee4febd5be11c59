/** The body is larger than allowed. Status 413. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  constructor(limit: number) {
    super(`the body has more than ${limit} bytes: send fewer or shorter queries at once`);
  }
}

/**
 * Reads a request's body, never more of it than `limit` bytes.
 * @throws BodyTooLargeError, before anything is read where the request names its length.
 */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null) {
    if (Number(length) > limit) throw new BodyTooLargeError(limit);
    return new Uint8Array(await request.arrayBuffer());
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    size += part.value.length;
    if (size > limit) {
      await reader?.cancel();
      throw new BodyTooLargeError(limit);
    }
    chunks.push(part.value);
  }
  return Buffer.concat(chunks);
}
