// The random numbers of the library, bit for bit: NumPy's RandomState draws the seed of a run, its default generator the
// order of each pass. Sources: MT19937 (Matsumoto & Nishimura 1998), PCG64 (O'Neill 2014), SeedSequence of NumPy.

const imul = Math.imul;

// The first number below 2^31 - 1 that RandomState(seed).randint(2**31 - 1) draws.
export function drawSeed(seed) {
  const N = 624, M = 397, key = new Uint32Array(N);
  key[0] = seed;
  for (let i = 1; i < N; i++) key[i] = imul(1812433253, key[i - 1] ^ (key[i - 1] >>> 30)) + i;
  for (let at = 0; ; at++) {
    if (at % N === 0) {
      for (let i = 0; i < N; i++) {
        const y = (key[i] & 0x80000000) | (key[(i + 1) % N] & 0x7fffffff);
        key[i] = key[(i + M) % N] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
    }
    let y = key[at % N];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    y = (y ^ (y >>> 18)) & 0x7fffffff;
    if (y < 0x7fffffff) return y;
  }
}

function seedWords(entropy, count) { // SeedSequence(entropy).generate_state(count), for at most four words of entropy
  const pool = new Uint32Array(4), words = new Uint32Array(count);
  let constant = 0x43b0d7e5;
  const hash = (value) => {
    value = (value ^ constant) >>> 0;
    constant = imul(constant, 0x931e8875) >>> 0;
    value = imul(value, constant) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  for (let i = 0; i < 4; i++) pool[i] = hash(entropy[i] ?? 0);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from === to) continue;
      const mixed = (imul(0xca01f9dd, pool[to]) - imul(0x4973f715, hash(pool[from]))) >>> 0;
      pool[to] = mixed ^ (mixed >>> 16);
    }
  }
  constant = 0x8b51f9dd;
  for (let i = 0; i < count; i++) {
    let value = (pool[i % 4] ^ constant) >>> 0;
    constant = imul(constant, 0x58f38ded) >>> 0;
    value = imul(value, constant) >>> 0;
    words[i] = value ^ (value >>> 16);
  }
  return words;
}

const MULTIPLIER = (2549297995355413924n << 64n) | 4865540595714422341n, WIDE = (1n << 128n) - 1n, LONG = (1n << 64n) - 1n;
function generator(entropy) { // returns a function that draws 32 bits at a time
  const words = seedWords(entropy, 8), long = (i) => BigInt(words[2 * i]) | (BigInt(words[2 * i + 1]) << 32n);
  const increment = ((((long(2) << 64n) | long(3)) << 1n) | 1n) & WIDE;
  let state = 0n, kept = null;
  const step = () => { state = (state * MULTIPLIER + increment) & WIDE; };
  step();
  state = (state + ((long(0) << 64n) | long(1))) & WIDE;
  step();
  return () => {
    if (kept !== null) { const value = kept; kept = null; return value; }
    step();
    const folded = ((state >> 64n) ^ state) & LONG, turn = state >> 122n;
    const drawn = ((folded >> turn) | (folded << (64n - turn))) & LONG; // the low half first
    kept = Number(drawn >> 32n);
    return Number(drawn & 0xffffffffn);
  };
}

function below(draw, most) { // a number from 0 to most: as many bits as it has, until they fit
  const mask = 2 ** (32 - Math.clz32(most)) - 1;
  for (;;) {
    const value = (draw() & mask) >>> 0;
    if (value <= most) return value;
  }
}
const kept = new Map(); // orders of passes: dragging a point asks for the same ones again and again
export function shuffled(n, seed, pass) { // default_rng((seed, 0, pass)).shuffle(arange(n))
  const key = `${n} ${seed} ${pass}`;
  if (!kept.has(key)) {
    if (kept.size > 4000) kept.clear();
    const order = Uint32Array.from({ length: n }, (_, i) => i), draw = generator([seed, 0, pass]);
    for (let i = n - 1; i > 0; i--) {
      const j = below(draw, i), value = order[i];
      order[i] = order[j];
      order[j] = value;
    }
    kept.set(key, order);
  }
  return kept.get(key);
}

// Which rows are held out, each drawn by its own number (SplitMix64, Steele et al. 2014).
export function heldOut(n, seed, share) {
  const least = BigInt(Math.floor(share * 2 ** 64)), begin = (BigInt(seed) * 0x9e3779b97f4a7c15n) & LONG;
  return Uint8Array.from({ length: n }, (_, i) => {
    let z = (BigInt(i) + begin) & LONG;
    for (const [shift, factor] of [[30n, 0xbf58476d1ce4e5b9n], [27n, 0x94d049bb133111ebn], [31n, 1n]]) z = ((z ^ (z >> shift)) * factor) & LONG;
    return z < least ? 1 : 0;
  });
}

// Numbers for examples and noise, which need agree with nothing: mulberry32.
export function simpleRandom(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = imul(state ^ (state >>> 15), state | 1);
    t ^= t + imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}
