import static org.apache.kafka.common.utils.ByteUtils.readVarlong;
import static org.apache.kafka.common.utils.ByteUtils.writeVarlong;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import java.util.function.*;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.*;

/**
 * The work of bench/streams.py in Kafka Streams, as its users write and tune it: event time, at-least-once, RocksDB.
 *
 * <p>summaries: five-minute moments per metric, re-keyed by metric and ten minutes, then a summary for each ten minutes. windows:
 * count and sum per metric and minute. join: two topics by key, within a time window. Each commit tells the windows that changed
 * anew. Records are Avro in Confluent's wire format, as bench/metrics.py has them; bench/kafka_streams.py gives the options.
 */
public final class KafkaStreamsSummaries {
  private static final Duration ONE = Duration.ofMinutes(1), FIVE = Duration.ofMinutes(5), TEN = Duration.ofMinutes(10);
  private static final int ROOM = 64; // bytes: enough for each of the records written

  record Metric(long time, double value) {}

  /** Moments of values; `squares` are of their differences from the mean (Welford), so that no digits cancel out. */
  record Moments(long count, double mean, double squares, double least, double greatest) {
    static final Moments NONE = new Moments(0, 0, 0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY);

    Moments with(double value) {
      double off = value - mean;
      double next = mean + off / (count + 1);
      return new Moments(count + 1, next, squares + off * (value - next), Math.min(least, value), Math.max(greatest, value));
    }

    Moments and(Moments other) {
      if (count == 0) {
        return other;
      }
      long all = count + other.count;
      double off = other.mean - mean;
      return new Moments(all, mean + off * other.count / all, squares + other.squares + off * off * count * other.count / all,
          Math.min(least, other.least), Math.max(greatest, other.greatest));
    }

    static Moments read(ByteBuffer in) {
      return new Moments(in.getLong(), in.getDouble(), in.getDouble(), in.getDouble(), in.getDouble());
    }

    void write(ByteBuffer out) {
      out.putLong(count).putDouble(mean).putDouble(squares).putDouble(least).putDouble(greatest);
    }
  }

  /** The moments of the five minutes from `start`, as far as they are known. */
  record Part(long start, Moments moments) {
    void write(ByteBuffer out) {
      moments.write(out.putLong(start));
    }
  }

  /** Both halves of ten minutes. A half told anew takes the place of what it was: a minimum can't be taken back. */
  record Halves(Moments first, Moments second) {
    static final Halves NONE = new Halves(Moments.NONE, Moments.NONE);

    Halves with(Part part) {
      return part.start == ten(part.start) ? new Halves(part.moments, second) : new Halves(first, part.moments);
    }

    void write(ByteBuffer out) {
      first.write(out);
      second.write(out);
    }
  }

  private final Map<String, String> options = new HashMap<>();
  private final StreamsBuilder builder = new StreamsBuilder();
  private final int schema;
  private final Serde<String> text = Serdes.String();

  private KafkaStreamsSummaries(String[] arguments) {
    for (String each : arguments) {
      options.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
    }
    schema = Integer.parseInt(option("output.schema"));
  }

  private KStream<String, Metric> read(String topic) {
    int id = Integer.parseInt(option("schema"));
    Serde<Metric> avro = Serdes.serdeFrom((name, value) -> null, (name, bytes) -> metric(topic, id, bytes)); // only read
    return builder.stream(topic, Consumed.with(text, avro).withTimestampExtractor((it, before) -> ((Metric) it.value()).time));
  }

  private void summaries() {
    Serde<Moments> moments = stored(40, Moments::write, Moments::read);
    Serde<Part> parts = stored(48, Part::write, in -> new Part(in.getLong(), Moments.read(in)));
    Serde<Halves> halves = stored(80, Halves::write, in -> new Halves(Moments.read(in), Moments.read(in)));
    read(option("input"))
        .groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(FIVE, seconds("grace.seconds")))
        .aggregate(() -> Moments.NONE, (key, metric, sum) -> sum.with(metric.value), Materialized.with(text, moments))
        .toStream()
        .map((five, sum) -> KeyValue.pair(five.key() + "|" + ten(five.window().start()), new Part(five.window().start(), sum)))
        .groupByKey(Grouped.with("parts", text, parts))
        // A part is told up to one commit after its last record was let in, among others of later time.
        .windowedBy(TimeWindows.ofSizeAndGrace(TEN, seconds("grace.seconds").plus(TEN)))
        .aggregate(() -> Halves.NONE, (key, part, both) -> both.with(part), Materialized.with(text, halves))
        .toStream()
        .map((ten, both) -> KeyValue.pair(ten.key(), summary(ten.window().start(), both.first.and(both.second))))
        .to(option("output"), Produced.with(text, Serdes.ByteArray()));
  }

  private void windows() {
    record Sum(long count, double sum) {}
    Serde<Sum> sums = stored(16, (each, out) -> out.putLong(each.count).putDouble(each.sum),
        in -> new Sum(in.getLong(), in.getDouble()));
    read(option("input"))
        .groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(ONE, seconds("grace.seconds")))
        .aggregate(() -> new Sum(0, 0), (key, metric, so) -> new Sum(so.count + 1, so.sum + metric.value),
            Materialized.with(text, sums))
        .toStream()
        .map((minute, all) -> KeyValue.pair(minute.key() + "|" + minute.window().start(),
            avro(new long[] {minute.window().start(), all.count}, all.sum)))
        .to(option("output"), Produced.with(text, Serdes.ByteArray()));
  }

  private void join() {
    Serde<Metric> metrics = stored(16, (each, out) -> out.putLong(each.time).putDouble(each.value),
        in -> new Metric(in.getLong(), in.getDouble()));
    JoinWindows within = JoinWindows.ofTimeDifferenceAndGrace(seconds("within.seconds"), seconds("grace.seconds"));
    read(option("input"))
        .join(read(option("other")), (left, right) -> avro(new long[] {right.time - left.time}, left.value, right.value),
            within, StreamJoined.with(text, metrics, metrics))
        .to(option("output"), Produced.with(text, Serdes.ByteArray()));
  }

  /** The variance is that of the values themselves (population), so that one value has one too: zero. */
  private byte[] summary(long start, Moments all) {
    double variance = all.squares / all.count;
    return avro(new long[] {start, all.count}, all.mean, all.least, all.greatest, variance, Math.sqrt(variance));
  }

  /** {Id: string, Timestamp: long, Value: double} in Avro, after the magic byte and the schema's id. */
  private static Metric metric(String topic, int schema, byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.BIG_ENDIAN);
    if (bytes.length < 15 || in.get() != 0 || in.getInt() != schema) {
      throw new SerializationException("a record of " + topic + " is not of schema " + schema + " in Confluent's wire format");
    }
    int id = (int) readVarlong(in);
    in.position(in.position() + id);
    return new Metric(readVarlong(in), in.order(ByteOrder.LITTLE_ENDIAN).getDouble());
  }

  /** A record whose doubles come after its longs, in Avro with the magic byte and the schema's id. */
  private byte[] avro(long[] longs, double... doubles) {
    ByteBuffer out = ByteBuffer.allocate(ROOM).put((byte) 0).putInt(schema).order(ByteOrder.LITTLE_ENDIAN);
    for (long each : longs) {
      writeVarlong(each, out);
    }
    for (double each : doubles) {
      out.putDouble(each);
    }
    return Arrays.copyOf(out.array(), out.position());
  }

  /** Values of `size` bytes in stores and repartition topics. */
  private static <T> Serde<T> stored(int size, BiConsumer<T, ByteBuffer> write, Function<ByteBuffer, T> read) {
    return Serdes.serdeFrom((topic, value) -> {
      ByteBuffer out = ByteBuffer.allocate(size);
      write.accept(value, out);
      return out.array();
    }, (topic, bytes) -> bytes == null ? null : read.apply(ByteBuffer.wrap(bytes)));
  }

  /** Start of the ten minutes that hold an instant. */
  private static long ten(long time) {
    return time - Math.floorMod(time, TEN.toMillis());
  }

  private String option(String name) {
    return Objects.requireNonNull(options.get(name), "argument missing: " + name + "=...");
  }

  private Duration seconds(String name) {
    return Duration.ofSeconds(Integer.parseInt(option(name)));
  }

  /** The memory of all stores bounded together, as Kafka's own guide has it. */
  public static final class BoundedMemory implements RocksDBConfigSetter {
    private static final Cache CACHE = new LRUCache(128 << 20, -1, false, 0.1);
    private static final WriteBufferManager BUFFERS = new WriteBufferManager(64 << 20, CACHE);

    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
      BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      options.setTableFormatConfig(table.setBlockCache(CACHE).setCacheIndexAndFilterBlocks(true));
      options.setWriteBufferManager(BUFFERS);
    }

    @Override
    public void close(String store, Options options) {} // cache and buffers belong to all stores
  }

  private Properties settings() {
    Properties settings = new Properties();
    settings.putAll(Map.of(
        StreamsConfig.APPLICATION_ID_CONFIG, "kafka-streams-" + option("mode"),
        StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, option("bootstrap"),
        StreamsConfig.STATE_DIR_CONFIG, option("state"),
        StreamsConfig.NUM_STREAM_THREADS_CONFIG, option("threads"),
        StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, option("commit.interval.ms"),
        StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, option("cache.bytes"),
        StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, BoundedMemory.class,
        StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 0));
    return settings;
  }

  private KafkaStreams streams() {
    switch (option("mode")) {
      case "summaries" -> summaries();
      case "windows" -> windows();
      case "join" -> join();
      default -> throw new IllegalArgumentException("mode=" + option("mode") + " is none of summaries, windows, join");
    }
    return new KafkaStreams(builder.build(), settings());
  }

  /** Runs until SIGTERM, or until a stream fails: then exit code 1. Each state is told on a line of its own. */
  public static void main(String[] arguments) throws InterruptedException {
    KafkaStreams streams = new KafkaStreamsSummaries(arguments).streams();
    CountDownLatch ended = new CountDownLatch(1);
    streams.setStateListener((now, before) -> {
      System.out.println("state " + now);
      if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) {
        ended.countDown();
      }
    });
    streams.setUncaughtExceptionHandler(failure -> {
      failure.printStackTrace();
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
    streams.start();
    ended.await();
    System.exit(1); // of no effect while SIGTERM's shutdown is under way
  }
}
