/** SHA-256, hexadecimal. A port because core and engine do no cryptography of their own. */
export type Digest = (text: string) => string
