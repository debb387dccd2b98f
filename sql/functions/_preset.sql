-- Returns the fields of a layout by its name; refuses a name that is none.
-- time_bits are those that fit a bigint: Discord's 42 and Instagram's 41 bits include the sign. Shard is whatever tells generators
-- apart: Twitter's datacenter * 32 + worker, Discord's worker * 32 + process, Sonyflake's machine.
create function shardflake._preset(
  p_layout text,
  out time_bits integer,
  out shard_bits integer,
  out counter_bits integer,
  out counter_first boolean,
  out epoch bigint,
  out tick_ms integer,
  out label text
)
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  select p.time_bits, p.shard_bits, p.counter_bits, p.counter_first, p.epoch, p.tick_ms, p.name || ' ' || p.widths
    into time_bits, shard_bits, counter_bits, counter_first, epoch, tick_ms, label
    from (values
      ('shardflake', 40, 13, 10, false, 1735689600000, 1, '41/13/10'),
      ('twitter', 41, 10, 12, false, 1288834974657, 1, '41/10/12'),
      ('discord', 41, 10, 12, false, 1420070400000, 1, '42/10/12'),
      ('sonyflake', 39, 16, 8, true, 1735689600000, 10, '39/8/16'),
      ('instagram', 40, 13, 10, false, 1314220021721, 1, '41/13/10'),
      ('javascript', 41, 5, 7, false, 1735689600000, 1, '41/5/7')
    ) as p (name, time_bits, shard_bits, counter_bits, counter_first, epoch, tick_ms, widths)
   where p.name = p_layout;
  if label is null then
    raise exception 'there is no layout "%"', p_layout using
      errcode = 'SF014',
      hint = 'Layouts are shardflake, twitter, discord, sonyflake, instagram and javascript; custom_layout() defines another one for this database.';
  end if;
end $$;

comment on function shardflake._preset(text) is
  'Fields of a layout by its name: widths, whether the counter stands above the shard id, epoch (ms since 1970), tick (ms); SF014 for an unknown name.';
