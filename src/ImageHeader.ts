/**
 * What an image file says about itself in its first bytes. Its name says nothing.
 *
 * @since 0.1.0
 */

/**
 * The formats that model providers have in common.
 *
 * @category models
 * @since 0.1.0
 */
export const mimeTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const

/** @category models */
export type MimeType = (typeof mimeTypes)[number]

/**
 * The format by its magic bytes: the first 12 are enough.
 *
 * @category getters
 * @since 0.1.0
 */
export const mimeTypeOf = (bytes: Uint8Array): MimeType | undefined =>
  ascii(bytes, 1, 7) === "PNG\r\n\u001a\n" && bytes[0] === 0x89
    ? "image/png"
    : bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff
      ? "image/jpeg"
      : /^GIF8[79]a$/.test(ascii(bytes, 0, 6))
        ? "image/gif"
        : ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 4) === "WEBP"
          ? "image/webp"
          : undefined

/**
 * Width and height in pixels; undefined where the header makes no sense, so that
 * no provider would take the image.
 *
 * @category getters
 * @since 0.1.0
 */
export const dimensionsOf = (
  mimeType: MimeType,
  bytes: Uint8Array
): { readonly width: number; readonly height: number } | undefined => {
  const found = dimensions[mimeType](bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return found !== undefined && found[0] > 0 && found[1] > 0 ? { width: found[0], height: found[1] } : undefined
}

type Dimensions = (bytes: Uint8Array, view: DataView) => readonly [width: number, height: number] | undefined

const dimensions: Record<MimeType, Dimensions> = {
  "image/png": (bytes, view) =>
    bytes.length >= 33 && ascii(bytes, 12, 4) === "IHDR" ? [view.getUint32(16), view.getUint32(20)] : undefined,
  "image/gif": (bytes, view) => (bytes.length >= 13 ? [view.getUint16(6, true), view.getUint16(8, true)] : undefined),
  "image/jpeg": (bytes, view) => {
    // Segment by segment to the frame header: thumbnails and profiles before it may be long.
    for (let at = 2; at + 9 <= bytes.length;) {
      const marker = bytes[at + 1]!
      if (bytes[at] !== 0xff) return undefined
      if (marker === 0xff) at += 1
      else if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
        return [view.getUint16(at + 7), view.getUint16(at + 5)]
      } else if (marker === 0xd9 || marker === 0xda) return undefined
      else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2
      else at += 2 + view.getUint16(at + 2)
    }
    return undefined
  },
  "image/webp": (bytes, view) => {
    if (bytes.length < 30) return undefined
    switch (ascii(bytes, 12, 4)) {
      case "VP8 ":
        return bytes[23] === 0x9d && bytes[24] === 0x01 && bytes[25] === 0x2a
          ? [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff]
          : undefined
      case "VP8L": {
        const bits = view.getUint32(21, true)
        return bytes[20] === 0x2f ? [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1] : undefined
      }
      case "VP8X":
        return [1 + (view.getUint32(24, true) & 0xffffff), 1 + (view.getUint32(26, true) >>> 8)]
    }
    return undefined
  }
}

const ascii = (bytes: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(from, from + length))
