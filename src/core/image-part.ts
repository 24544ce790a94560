/** An image in a message or in the output of a tool. */
export type ImagePart = { type: 'image'; source: { mediaType: string; data: string } | { url: string } }
