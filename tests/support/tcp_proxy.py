#!/usr/bin/env python3
"""tcp_proxy.py - the network between probes and their daemon: tcp_proxy.py PORT TARGET-PORT

Both on 127.0.0.1.  Who kills it cuts the network.
"""
import asyncio
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def serve(reader, writer):
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
