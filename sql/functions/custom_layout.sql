-- Gives a database that has no shard id yet a layout of its own; assign_shard() without a layout then keeps it.
-- At most 41 bits of time leave the window 22 bits below its tick, and at most 16 of counter leave 4 million void draws there:
-- enough that no flood of draws reaches the next tick while a window is being opened.
create function shardflake.custom_layout(
  time_bits integer,
  shard_bits integer,
  counter_bits integer,
  epoch timestamptz,
  tick_ms integer default 1,
  counter_first boolean default false
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant numeric := floor(extract(epoch from clock_timestamp()) * 1000);
  v_epoch constant numeric := floor(extract(epoch from custom_layout.epoch) * 1000);
  v_end numeric;
  v_wrong text;
begin
  if num_nulls(time_bits, shard_bits, counter_bits, custom_layout.epoch, tick_ms, counter_first) > 0 then
    v_wrong := 'an argument is NULL';
  elsif time_bits not between 30 and 41 then
    v_wrong := format('%s bits of time are not between 30 and 41', time_bits);
  elsif shard_bits not between 1 and 22 then
    v_wrong := format('%s bits of shard id are not between 1 and 22', shard_bits);
  elsif counter_bits not between 1 and 16 then
    v_wrong := format('%s bits of counter are not between 1 and 16', counter_bits);
  elsif time_bits + shard_bits + counter_bits > 63 then
    v_wrong := format('%s + %s + %s bits are %s, more than 63', time_bits, shard_bits, counter_bits, time_bits + shard_bits + counter_bits);
  elsif tick_ms not between 1 and 100 then
    v_wrong := format('a tick of %s ms is not between 1 and 100', tick_ms);
  elsif custom_layout.epoch not between '1970-01-01 00:00:00+00' and clock_timestamp() then
    v_wrong := format('the epoch %s is not between 1970 and now', custom_layout.epoch);
  else
    v_end := v_epoch + tick_ms * (2::numeric ^ time_bits);
    if v_end < v_now + 31557600000 then
      v_wrong := format('%s bits of time from %s end at %s, in less than a year', time_bits, custom_layout.epoch, to_timestamp(v_end / 1000));
    end if;
  end if;
  if v_wrong is not null then
    raise exception 'no such layout: %', v_wrong using
      errcode = 'SF014', hint = 'Time takes 30 to 41 bits, the shard id 1 to 22, the counter 1 to 16, 63 together at most; a tick lasts 1 to 100 ms.';
  end if;
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  if shardflake.shard_id() is not null then
    raise exception 'this database is shard % of layout % already, its layout cannot change', shardflake.shard_id(), shardflake._layout() using
      errcode = 'SF014', hint = 'Ids of two layouts cannot share tables safely: use another database.';
  end if;
  perform shardflake._set_layout(format('custom %s/%s/%s', time_bits, case when counter_first then counter_bits else shard_bits end,
                                        case when counter_first then shard_bits else counter_bits end),
                                 time_bits, shard_bits, counter_bits, counter_first, v_epoch::bigint, tick_ms);
end $$;

comment on function shardflake.custom_layout(integer, integer, integer, timestamptz, integer, boolean) is
  'Gives a database without a shard id a layout of its own: widths, epoch, tick (1 to 100 ms), counter_first: the counter above the shard id. SF014 for what does not fit, and once a shard id is assigned.';

revoke execute on function shardflake.custom_layout(integer, integer, integer, timestamptz, integer, boolean) from public;
