import type { Command } from 'commander'
import { parseStreamId, type StreamId } from '../../identity/index.ts'
import { done, examples, type Finish, folderOf, group, leaf, namedNode, onNode, workingDir } from './command.ts'

export function storeCommand(finish: Finish): Command {
  const store = group('store', 'verify, measure, back up and restore the data of a node')
  const commands = () => import('../commands/store.ts')
  const jobs = () => import('../commands/store-jobs.ts')
  store.addCommand(
    onNode(
      leaf(
        'verify',
        'read every byte: identity, settings, events, files and blobs, with checksums, hash chains and signatures; the node may be running',
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal store verify', 'of the node in ./shoal-data'],
          ['shoal store verify press7.local', 'of the node on another machine, with your user key'],
        ),
      )
      .action(done(finish, async (options, node) => (await jobs()).verifyStore(namedNode(options, node)))),
  )
  store.addCommand(
    onNode(leaf('stats', 'print the number of events and files, and their disk usage; the node may be running'))
      .addHelpText(
        'after',
        examples(
          ['shoal store stats', 'of the node in ./shoal-data'],
          ["shoal store stats --json | jq '.result[].events'", 'the number of events of each topic'],
        ),
      )
      .action(done(finish, async (options, node) => (await commands()).storeStats(namedNode(options, node)))),
  )
  store.addCommand(
    onNode(
      leaf('backup', 'back up events, files, identity and settings to a new folder; the node may be running').argument(
        '<target>',
        'folder to create; with an address a name below `backups` in the data folder of the node',
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal store backup /mnt/usb/press7', 'of the node in ./shoal-data'],
          ['shoal store backup before-update press7.local', 'on the machine of that node, with your user key'],
        ),
      )
      .action(
        done(finish, async (options, target, node) =>
          (await jobs()).backupStore(namedNode(options, node), String(target)),
        ),
      ),
  )
  store.addCommand(
    onNode(
      leaf(
        'accept-restored',
        'let the node of a restored backup publish, even if other nodes may have newer events of it; it may be running',
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal store accept-restored', 'after the backup was put in place of ./shoal-data'],
          ['shoal store accept-restored press7.local', 'the node on another machine, with your user key'],
        ),
      )
      .action(done(finish, async (options, node) => (await commands()).acceptRestored(namedNode(options, node)))),
  )
  store.addCommand(
    onNode(
      leaf('forget-stream', 'remove all events of a stream of another node; this node may be running').argument(
        '<stream>',
        'ID of the stream, as `shoal store stats` lists it',
        parseStreamId,
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal store forget-stream DKSzBkzUGMQkjEUpoFaaldC1ZdHJkGHNzsRTS5E1pKI-0', 'for example after a fork'],
          [
            'shoal store forget-stream DKSzBkzUGMQkjEUpoFaaldC1ZdHJkGHNzsRTS5E1pKI-0 press7.local',
            'from the node on another machine, with your user key',
          ],
        ),
      )
      .action(
        done(finish, async (options, stream, node) =>
          (await import('../commands/forget-stream.ts')).forgetStream(namedNode(options, node), stream as StreamId),
        ),
      ),
  )
  store.addCommand(
    leaf('new-identity', 'give a stopped node a new key: its streams until now become those of another node')
      .option('--yes', 'do not ask for confirmation')
      .addOption(workingDir())
      .addHelpText('after', examples(['shoal store new-identity', 'for example when somebody else may have the key']))
      .action(
        done(finish, async (options) =>
          (await import('../commands/new-identity.ts')).newIdentity(folderOf(options), options['yes'] === true),
        ),
      ),
  )
  return store
}
