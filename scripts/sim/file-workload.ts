import { type Block, makeBlock } from '../../src/files/unixfs/index.ts'
import type { Random } from '../crash/random.ts'
import type { Swarm } from './swarm.ts'
import type { WholeNode } from './whole-node.ts'

const names = ['site', 'app', 'manual'] as const
const uploadTags = ['files', 'files:created']
const removalTags = ['files', 'files:removed']

/** What apps do with files: upload and remove them, name them, and download them. */
export class FileWorkload {
  readonly #swarm: Swarm
  readonly #random: Random

  constructor(swarm: Swarm) {
    this.#swarm = swarm
    this.#random = swarm.random('file workload')
  }

  plan(): void {
    this.#plan('upload', 1 + this.#random.below(4), (node, random) => this.#upload(node, random))
    this.#plan('name', 2 + this.#random.below(8), (node, random) => this.#name(node, random))
    this.#plan('remove', this.#random.below(3), (node, random) => this.#remove(node, random))
    this.#plan('download', this.#random.below(4), (node, random) => this.#download(node, random))
  }

  #plan(part: string, count: number, work: (node: WholeNode, random: Random) => Promise<unknown>): void {
    const swarm = this.#swarm
    for (let i = 0; i < count; i++) {
      const random = swarm.random(`${part} ${i}`)
      swarm.sometime(random, () => swarm.start(work(swarm.any(random), random)))
    }
  }

  async #upload(node: WholeNode, random: Random): Promise<void> {
    const blocks = fileOf(random)
    const cid = String(blocks.at(-1)?.cid)
    node.files.upload(blocks)
    this.#swarm.uploads.push({ node, cid, blocks })
    await node.publishFact(uploadTags, { type: 'fileAdded', cid, name: 'file', size: 1 })
  }

  async #name(node: WholeNode, random: Random): Promise<void> {
    const name = random.pick(names)
    const cid = this.#any(random)?.cid
    const isRemoved = random.chance(0.2) || cid === undefined
    await node.publishFact(['ans'], isRemoved ? { Remove: { name } } : { Add: { name, cid, public: true } })
  }

  async #remove(node: WholeNode, random: Random): Promise<void> {
    const upload = this.#any(random)
    if (upload !== undefined) await node.publishFact(removalTags, { type: 'removed', cid: upload.cid })
  }

  async #download(node: WholeNode, random: Random): Promise<void> {
    const blocks = this.#any(random)?.blocks ?? []
    const block = blocks[random.below(blocks.length)]
    if (block !== undefined) node.files.blocks.download(block.cid.bytes, random.next() * 10_000)
  }

  #any(random: Random): Swarm['uploads'][number] | undefined {
    const { uploads } = this.#swarm
    return uploads[random.below(uploads.length)]
  }
}

/** The blocks of a file, the root last. Most files are small; some have more blocks than a node considers at a time. */
function fileOf(random: Random): Block[] {
  const chance = random.next()
  const leaves = chance < 0.02 ? 600 : chance < 0.15 ? 150 : 1 + random.below(12)
  const width = leaves > 100 ? 100 : 2 + random.below(6)
  const size = chance > 0.9 ? random.below(60_000) : random.below(200)
  let level = Array.from({ length: leaves }, (_, i) => {
    // The content is unique, so that no two files share blocks by chance.
    const data = Buffer.from(`${random.next()} ${i} ${'x'.repeat(size)}`)
    return makeBlock({ type: 'file', data, size: data.length, blockSizes: [] }, [])
  })
  const blocks = [...level]
  while (level.length > 1) {
    const parents: Block[] = []
    for (let i = 0; i < level.length; i += width) parents.push(parentOf(level.slice(i, i + width)))
    blocks.push(...parents)
    level = parents
  }
  return blocks
}

function parentOf(children: readonly Block[]): Block {
  const blockSizes = children.map(({ bytes }) => bytes.length)
  const size = blockSizes.reduce((sum, bytes) => sum + bytes, 0)
  const links = children.map(({ cid, bytes }) => ({ cid, name: '', size: bytes.length }))
  return makeBlock({ type: 'file', data: Buffer.of(), size, blockSizes }, links)
}
