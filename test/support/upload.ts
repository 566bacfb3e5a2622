import type { FileStore } from '../../src/files/thread/file-store.ts'
import { ChunkMemory } from '../../src/files/unixfs/index.ts'

/** Bytes in a transferable ArrayBuffer. */
export function chunkOf(bytes: Uint8Array): [memory: ArrayBuffer, length: number] {
  const memory = new ChunkMemory()
  memory.chunk(0).set(bytes)
  return [memory.buffer, bytes.length]
}

/** Stores a file, but does not publish the event for it. */
export async function storeFile(store: FileStore, text: string): Promise<{ id: number; cid: string }> {
  const id = store.beginUpload()
  await store.addChunks(id, ...chunkOf(Buffer.from(text)))
  const { cid } = await store.endFile(id)
  await store.commitUpload(id)
  return { id, cid }
}
