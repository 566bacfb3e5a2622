import type { MessageStream, StreamMuxer, StreamMuxerFactory } from '@libp2p/interface'
import { yamux } from '@libp2p/yamux'
import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import { Misbehaviour } from './misbehaviour.ts'
import { YamuxGuard } from './yamux-guard.ts'
import { extendWindowsByHalf } from './yamux-window.ts'

/** yamux with bounded windows, streams, frames and buffers. */
export function boundedYamux(): () => StreamMuxerFactory {
  extendWindowsByHalf()
  const create = yamux({
    // Pings are messages of the live stream.
    enableKeepAlive: false,
    maxInboundStreams: limits.streamsPerConnection,
    maxOutboundStreams: limits.streamsPerConnection,
    streamOptions: {
      initialStreamWindowSize: tuning.streamWindowBytes,
      maxStreamWindowSize: tuning.streamWindowBytes,
      maxReadBufferLength: 2 * tuning.streamWindowBytes,
      maxWriteBufferLength: limits.connectionBufferBytes,
    },
  })
  return () => {
    const factory = create()
    return {
      protocol: factory.protocol,
      createStreamMuxer(connection: MessageStream): StreamMuxer {
        guard(connection, (error) => {
          // The streams are told why, before the loss of the connection ends them.
          muxer.abort(error)
          connection.abort(error)
        })
        const muxer = factory.createStreamMuxer(connection)
        return muxer
      },
    }
  }
}

/** Checks the frames before the muxer sees them. */
function guard(connection: MessageStream, onMisbehaviour: (error: Misbehaviour) => void): void {
  const frames = new YamuxGuard(tuning.streamWindowBytes, limits.streamsOfConnection)
  // Answers to pings and resets are sent without regard to backpressure.
  connection.maxWriteBufferLength = limits.connectionBufferBytes
  connection.addEventListener('message', ({ data }) => {
    try {
      for (const piece of data instanceof Uint8Array ? [data] : data) frames.check(piece)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      onMisbehaviour(new Misbehaviour(error.message))
    }
  })
}
