/** SHA-256, hexadecimal. A port because core and engine contain no cryptography. */
export type Digest = (text: string) => string
