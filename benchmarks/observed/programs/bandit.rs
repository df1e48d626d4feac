// An agent that learns which of five arms pays best, seeded by the time, as a small Rust program without crates is.
use std::time::{Instant, SystemTime, UNIX_EPOCH};

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn main() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (mut random, began) = (Random(seed | 1), Instant::now());
    let pays = [0.2, 0.35, 0.5, 0.6, 0.75];
    let (mut values, mut pulls) = ([0.0; 5], [0u32; 5]);
    println!("{{\"arms\": {}, \"epsilon\": {}}}", pays.len(), 0.1);
    for episode in 0..8 {
        let mut reward = 0;
        for _ in 0..100 {
            let explores = random.uniform() < 0.1;
            let best = (0..5).max_by(|a, b| values[*a as usize].partial_cmp(&values[*b as usize]).unwrap()).unwrap();
            let arm = if explores { (random.uniform() * 5.0) as usize } else { best as usize };
            let paid = (random.uniform() < pays[arm]) as u32;
            reward += paid;
            pulls[arm] += 1;
            values[arm] += (paid as f64 - values[arm]) / pulls[arm] as f64;
        }
        println!("{{\"episode\": {}, \"reward\": {}, \"value\": {{\"best\": {:.4}}}}}", episode, reward, values[4]);
    }
    println!("pulls: {:?}, {:.3} s", pulls, began.elapsed().as_secs_f64());
}
