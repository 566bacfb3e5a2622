import { systemCode } from './errors.ts'

const systemReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: no node listens at this address',
  ECONNRESET: 'the other side reset the connection',
  EPIPE: 'the other side closed the connection',
  EHOSTUNREACH: 'no route to this address',
  ENETUNREACH: 'no route to this address',
  EHOSTDOWN: 'the host is down',
  EADDRNOTAVAIL: 'this machine has no address from which it could connect',
  EAFNOSUPPORT: 'this machine does not support this kind of address',
  EINVAL: 'this address cannot be connected to',
  ETIMEDOUT: 'no answer within the time-out',
  ENOTFOUND: 'the host name cannot be resolved',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EACCES: 'the firewall of this machine forbids the connection',
  EPERM: 'the firewall of this machine forbids the connection',
  EMFILE: 'too many open files on this machine',
}

/** Why a connection to another node failed, in words; undefined if it is not an error of the system. */
export function connectReason(error: unknown): string | undefined {
  return systemReasons[String(systemCode(error))]
}
