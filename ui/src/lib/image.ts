// Images of results. The engine decoded and measured them; here the bytes are checked once more before the window draws
// them (row 30): a known format by its first bytes, never SVG, never an address.

const formats = new Map<string, (b: Uint8Array) => boolean>([
  ["image/png", (b) => starts(b, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ["image/jpeg", (b) => starts(b, [0xff, 0xd8, 0xff])],
  ["image/gif", (b) => starts(b, [0x47, 0x49, 0x46, 0x38])],
  ["image/webp", (b) => starts(b, [0x52, 0x49, 0x46, 0x46]) && starts(b.subarray(8), [0x57, 0x45, 0x42, 0x50])],
]);
const starts = (bytes: Uint8Array, prefix: number[]) => prefix.every((byte, i) => bytes[i] === byte);

/** The image as a blob, or null when it is not one of the four formats that its type says. */
export function imageBlob(mime: string, data: string): Blob | null {
  const check = formats.get(mime);
  if (!check) return null;
  let binary: string;
  try {
    binary = atob(data);
  } catch {
    return null;
  }
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  return check(bytes) ? new Blob([bytes], { type: mime }) : null;
}
