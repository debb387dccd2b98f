-- Says how many ids a call of next_ids() may claim: what fits into 100 ms, and one window at least.
create function shardflake._batch_limit() returns bigint
language sql stable parallel safe
return greatest(100 / shardflake._tick_ms(), 1)::bigint << shardflake._counter_bits();

comment on function shardflake._batch_limit() is
  'Ids that next_ids() may claim at once: 102400 in the default layout.';

revoke execute on function shardflake._batch_limit() from public;
