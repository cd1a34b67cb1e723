import { expect, test } from "vitest";
import { imageBlob } from "./image";

const base64 = (bytes: number[]) => btoa(String.fromCharCode(...bytes));
const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2];

test("row 30: only the four formats, and only when the bytes agree", () => {
  expect(imageBlob("image/png", base64(png))).toMatchObject({ type: "image/png", size: 10 });
  expect(imageBlob("image/webp", base64([0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50]))).not.toBeNull();
  expect(imageBlob("image/jpeg", base64(png))).toBeNull();
  expect(imageBlob("image/svg+xml", btoa("<svg/>"))).toBeNull();
  expect(imageBlob("text/html", btoa("<b>"))).toBeNull();
  expect(imageBlob("image/png", "not base64!")).toBeNull();
  expect(imageBlob("__proto__", base64(png))).toBeNull();
});
