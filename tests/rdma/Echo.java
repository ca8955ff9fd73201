import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/** Sends bytes to a server and back, over NIO: the server waits with a selector, the client blocks. */
public final class Echo {
    private static final int CHUNK = 1 << 16;

    private Echo() {}

    public static void main(String[] args) throws IOException {
        if (args[0].equals("server")) {
            serve(new InetSocketAddress(args[1], Integer.parseInt(args[2])));
        } else {
            ask(new InetSocketAddress(args[1], 0), new InetSocketAddress(args[2], Integer.parseInt(args[3])),
                Long.parseLong(args[4]));
        }
    }

    /** One client, until it closes. */
    private static void serve(InetSocketAddress here) throws IOException {
        try (Selector selector = Selector.open(); ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(here);
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
            System.out.println("listening with " + selector.provider().getClass().getName());
            ByteBuffer buffer = ByteBuffer.allocateDirect(CHUNK);
            long echoed = 0;
            while (true) {
                selector.select();
                for (SelectionKey key : selector.selectedKeys()) {
                    if (key.isAcceptable()) {
                        SocketChannel client = listener.accept();
                        client.configureBlocking(false);
                        client.register(selector, SelectionKey.OP_READ);
                        continue;
                    }
                    SocketChannel client = (SocketChannel) key.channel();
                    if (key.isReadable() && buffer.position() == 0) {
                        if (client.read(buffer) < 0) {
                            System.out.println("echoed " + echoed);
                            return;
                        }
                        buffer.flip();
                    }
                    echoed += client.write(buffer);
                    key.interestOps(buffer.hasRemaining() ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
                    if (!buffer.hasRemaining()) {
                        buffer.clear();
                    }
                }
                selector.selectedKeys().clear();
            }
        }
    }

    private static void ask(InetSocketAddress here, InetSocketAddress there, long bytes) throws IOException {
        byte[] sent = new byte[CHUNK];
        ByteBuffer buffer = ByteBuffer.allocate(CHUNK);
        try (SocketChannel channel = SocketChannel.open()) {
            channel.bind(here);
            channel.connect(there);
            for (long done = 0; done < bytes; done += CHUNK) {
                Arrays.fill(sent, (byte) (done / CHUNK));
                for (ByteBuffer out = ByteBuffer.wrap(sent); out.hasRemaining();) {
                    channel.write(out);
                }
                buffer.clear();
                while (buffer.hasRemaining()) {
                    if (channel.read(buffer) < 0) {
                        throw new IOException("the server closed");
                    }
                }
                if (!Arrays.equals(sent, buffer.array())) {
                    throw new IOException("other bytes came back");
                }
            }
        }
        System.out.println("got back " + bytes);
    }
}
