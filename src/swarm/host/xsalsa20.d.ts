declare module 'xsalsa20' {
  export interface Xor {
    update(input: Uint8Array, output?: Uint8Array): Uint8Array
    /** Releases the memory of the cipher. */
    finalize(): void
  }
  // biome-ignore lint/style/noDefaultExport: this is how the package exports it
  export default function xsalsa20(nonce: Uint8Array, key: Uint8Array): Xor
}
