import { type Command, Option } from 'commander'
import { ShoalError } from '../../base/errors.ts'
import type { NamedFilesNode } from '../files/files-node.ts'
import { done, examples, type Finish, group, leaf, namedNode, type Options, onNode } from './command.ts'

export function filesCommand(finish: Finish): Command {
  const files = group('files', 'files, names and websites of a running node')
  const commands = () => import('../commands/files.ts')
  files.addCommand(
    onFiles(
      leaf('add', 'upload a file or a folder, and print its content identifier').argument('<path>', 'file or folder'),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal files add dist', 'to the node in ./shoal-data'],
          ['shoal files add dist press7.local', 'to the node on another machine, with your user key'],
          ['shoal files add dist --node localhost:4454', 'through the API of a node, as apps do'],
        ),
      )
      .action(
        done(finish, async (options, path, node) => (await commands()).addFiles(namedBy(options, node), String(path))),
      ),
  )
  files.addCommand(
    onFiles(
      leaf('get', 'download a file or a folder')
        .argument('<address>', 'content identifier or name, and a path below it')
        .argument(
          '[target]',
          'file or folder to create; - is the standard output (default: the last part of the address)',
        ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal files get my-app/index.html', 'to ./index.html'],
          ['shoal files get my-app copy press7.local', 'from the node on another machine, to ./copy'],
        ),
      )
      .action(
        done(finish, async (options, address, target, node) =>
          (await commands()).getFiles(namedBy(options, node), String(address), target as string | undefined),
        ),
      ),
  )
  files.addCommand(
    onFiles(
      leaf('ls', 'list all names and unnamed uploads, or a directory').argument(
        '[address]',
        'content identifier or name, and a path below it; / lists all names and unnamed uploads (default: /)',
      ),
    )
      .addHelpText(
        'after',
        examples(
          ['shoal files ls', 'all names, and uploads without one, of the node in ./shoal-data'],
          ['shoal files ls my-app', 'what is in a directory'],
          ['shoal files ls / press7.local', 'all names of the node on another machine'],
        ),
      )
      .action(
        done(finish, async (options, address, node) =>
          (await commands()).listFiles(namedBy(options, node), address as string | undefined),
        ),
      ),
  )
  files.addCommand(
    onFiles(
      leaf('name', 'bind a name to content, and print its URL; a named directory is a website')
        .argument('<name>', 'the name')
        .argument('<cid>', 'content identifier'),
    )
      .addHelpText(
        'after',
        examples(['shoal files name my-app "$(shoal files add dist)"', 'upload a website, and publish it']),
      )
      .action(
        done(finish, async (options, name, cid, node) =>
          (await commands()).nameFiles(namedBy(options, node), String(name), String(cid)),
        ),
      ),
  )
  files.addCommand(
    onFiles(leaf('unname', 'remove a name').argument('<name>', 'the name'))
      .addHelpText('after', examples(['shoal files unname my-app', 'its content stays while it is an upload']))
      .action(
        done(finish, async (options, name, node) =>
          (await commands()).unnameFiles(namedBy(options, node), String(name)),
        ),
      ),
  )
  files.addCommand(
    onFiles(leaf('rm', 'remove an upload from all nodes').argument('<cid>', 'content identifier'))
      .addHelpText('after', examples(['shoal files rm bafybei…', 'as `shoal files ls` lists it']))
      .action(
        done(finish, async (options, cid, node) => (await commands()).removeFiles(namedBy(options, node), String(cid))),
      ),
  )
  return files
}

/** Adds the node of a command for files: that of all commands, or an API. */
function onFiles(command: Command): Command {
  return onNode(command).addOption(
    new Option(
      '--node <address>',
      'use the API of a node instead, with the token of an app: host, host:port or http://host:port (default port 4454)',
    ),
  )
}

function namedBy(options: Options, node: unknown): NamedFilesNode {
  const api = options['node'] as string | undefined
  if (api === undefined) return namedNode(options, node)
  if (node === undefined && options['workingDir'] === undefined && options['identity'] === undefined) return { api }
  throw new ShoalError('ERR_UNSUPPORTED', '--node excludes another node, --working-dir and --identity.')
}
