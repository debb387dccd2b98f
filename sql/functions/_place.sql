-- Returns a draw in the form of an id, with zeros where the shard id goes.
create function shardflake._place(p_draw bigint) returns bigint
language sql stable parallel safe
return ((p_draw >> shardflake._window_bits()) << shardflake._time_shift())
       | ((p_draw & ((1::bigint << shardflake._counter_bits()) - 1)) << shardflake._counter_shift());

comment on function shardflake._place(bigint) is
  'A draw, tick << window bits | counter, as an id whose shard id is 0.';

revoke execute on function shardflake._place(bigint) from public;
