-- Gives this database its shard id, once; run again with the same id, it changes the options alone.
create function shardflake.assign_shard(
  p_shard_id integer,
  logical_shards integer[] default null,
  max_lead interval default null,
  replace boolean default false,
  layout text default null
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lead_ms constant numeric := extract(epoch from max_lead) * 1000;
  v_old integer;
  v_bad integer;
  v_last integer;
  v_preset record;
begin
  if v_lead_ms not between 0 and 86400000 then
    raise exception 'max_lead % is not between 0 and 24 hours', max_lead using
      errcode = 'SF007', hint = 'The default of 10 seconds suits most servers; 0 refuses as soon as the clock is set back.';
  end if;
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  perform shardflake._check_free_shards(logical_shards || p_shard_id);
  v_old := shardflake.shard_id();
  if layout is not null and layout <> split_part(shardflake._layout(), ' ', 1) then
    v_preset := shardflake._preset(layout);
    if v_old is not null then
      raise exception 'this database is shard % of layout % already, its layout cannot become %', v_old, shardflake._layout(), v_preset.label using
        errcode = 'SF014', hint = 'A layout is for ever, as ids in tables are read by it. Use another database for ids of another layout.';
    end if;
    perform shardflake._set_layout(v_preset.label, v_preset.time_bits, v_preset.shard_bits, v_preset.counter_bits, v_preset.counter_first,
                                   v_preset.epoch, v_preset.tick_ms);
  end if;
  v_last := (1 << shardflake._shard_bits()) - 1;
  if p_shard_id is null or p_shard_id not between 0 and v_last then
    raise exception 'shard id % is not between 0 and %', coalesce(p_shard_id::text, 'NULL'), v_last using
      errcode = 'SF007', hint = format('Choose an id from 0 to %s that no other shard uses.', v_last);
  end if;
  select s into v_bad from unnest(logical_shards) as s where s is null or s not between 0 and v_last limit 1;
  if found then
    raise exception 'logical shard id % is not between 0 and %', coalesce(v_bad::text, 'NULL'), v_last using
      errcode = 'SF007', hint = format('Choose ids from 0 to %s that no other database uses.', v_last);
  end if;
  if v_old <> p_shard_id and not replace then
    raise exception 'this database is shard % already, it cannot become shard % as well', v_old, p_shard_id using
      errcode = 'SF008',
      hint = 'If it is a copy that is to be a shard of its own, run SELECT shardflake.assign_shard(' || p_shard_id || ', replace => true).';
  end if;
  if v_old is distinct from p_shard_id then
    execute format('create or replace function shardflake.shard_id() returns integer language sql stable parallel safe return %s', p_shard_id);
    perform shardflake._arm();
  end if;
  if logical_shards is not null or v_old is distinct from p_shard_id then
    perform shardflake._set_logical_shards(logical_shards || p_shard_id);
  end if;
  if max_lead is not null then
    execute format('create or replace function shardflake._max_lead() returns bigint language sql stable parallel safe return %L::bigint',
                   floor(v_lead_ms));
  end if;
end $$;

comment on function shardflake.assign_shard(integer, integer[], interval, boolean, text) is
  'Gives this database shard id (0 to 8191 in the default layout), once. logical_shards: further shard ids it may issue; max_lead: how far ids may run ahead of a clock that was set back (default 10 s, 0 refuses at once); replace: give a copy another id; layout: shardflake (default), twitter, discord, sonyflake, instagram or javascript, fixed from the first call on. SF007 out of range, SF008 a second id, SF014 an unknown or another layout.';

revoke execute on function shardflake.assign_shard(integer, integer[], interval, boolean, text) from public;
