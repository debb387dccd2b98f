-- Writes the constants of a layout; called with the generator's lock held, and only while the database has no shard id.
-- All of them are one-line functions that the planner folds: the text of the generator is the same for every layout.
create function shardflake._set_layout(
  p_label text,
  p_time_bits integer,
  p_shard_bits integer,
  p_counter_bits integer,
  p_counter_first boolean,
  p_epoch bigint,
  p_tick_ms integer
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_window_bits constant integer := 63 - p_time_bits;
  v_time_shift constant integer := p_shard_bits + p_counter_bits;
  v_shard_shift constant integer := case when p_counter_first then 0 else p_counter_bits end;
  v_counter_shift constant integer := case when p_counter_first then p_shard_bits else 0 end;
  v_behind constant integer := (8 + p_tick_ms - 1) / p_tick_ms;
  v_last constant text := 'currval(''shardflake._window''::regclass)';
  v_span integer := 127;
  v_constant record;
begin
  while v_span * p_tick_ms > 127 and v_span > 3 loop
    v_span := v_span / 2;
  end loop;
  for v_constant in
    select * from (values
      ('_layout', '', 'text', 'stable parallel safe', format('%L::text', p_label)),
      ('_tick_ms', '', 'integer', 'stable parallel safe', p_tick_ms::text),
      ('_window_bits', '', 'integer', 'stable parallel safe', v_window_bits::text),
      ('_time_shift', '', 'integer', 'stable parallel safe', v_time_shift::text),
      ('_shard_bits', '', 'integer', 'stable parallel safe', p_shard_bits::text),
      ('_shard_shift', '', 'integer', 'stable parallel safe', v_shard_shift::text),
      ('_counter_bits', '', 'integer', 'stable parallel safe', p_counter_bits::text),
      ('_counter_shift', '', 'integer', 'stable parallel safe', v_counter_shift::text),
      ('_span', '', 'integer', 'stable parallel safe', v_span::text),
      ('_is_due', 'p_draw bigint', 'boolean', 'volatile parallel safe',
       format('(p_draw - ((date_part(''epoch'', clock_timestamp()) * %s - %s::double precision)::bigint << %s)) & ~((%s::bigint << %s) | %s) = 0',
              (1000.0::double precision / p_tick_ms)::text, p_epoch::double precision / p_tick_ms + v_behind + 0.5, v_window_bits,
              v_span, v_window_bits, (1 << p_counter_bits) - 1)),
      ('_last_draw', '', 'bigint', 'volatile parallel unsafe',
       case when v_window_bits = v_time_shift and v_counter_shift = 0 then v_last
            else format('((%1$s >> %2$s) << %3$s) | ((%1$s & %4$s::bigint) << %5$s)',
                        v_last, v_window_bits, v_time_shift, (1 << p_counter_bits) - 1, v_counter_shift) end),
      ('_tick', '', 'bigint', 'volatile parallel safe',
       format('(floor(date_part(''epoch'', clock_timestamp()) * 1000)::bigint - %s) / %s', p_epoch, p_tick_ms)),
      ('epoch_ms', '', 'bigint', 'immutable strict parallel safe', p_epoch::text),
      ('_id_tick_ms', '', 'integer', 'immutable strict parallel safe', p_tick_ms::text),
      ('_id_time_bits', '', 'integer', 'immutable strict parallel safe', p_time_bits::text),
      ('_id_time_shift', '', 'integer', 'immutable strict parallel safe', v_time_shift::text),
      ('_id_shard_bits', '', 'integer', 'immutable strict parallel safe', p_shard_bits::text),
      ('_id_shard_shift', '', 'integer', 'immutable strict parallel safe', v_shard_shift::text),
      ('_id_counter_bits', '', 'integer', 'immutable strict parallel safe', p_counter_bits::text),
      ('_id_counter_shift', '', 'integer', 'immutable strict parallel safe', v_counter_shift::text)
    ) as c (name, argument, type, label, value)
  loop
    execute format('create or replace function shardflake.%I(%s) returns %s language sql %s return %s',
                   v_constant.name, v_constant.argument, v_constant.type, v_constant.label, v_constant.value);
  end loop;
  -- An assignment that was rolled back has left its ticks in the sequences, which may be of another layout. Ids drawn in it lie
  -- below now and its lead, so the first window opens above both, as after a restart.
  if pg_sequence_last_value('shardflake._high_water') > 0 then
    perform setval('shardflake._incarnation', 0), setval('shardflake._window', 0), setval('shardflake._opened', 0);
    perform setval('shardflake._high_water', shardflake._tick() + shardflake._ticks(3000));
  end if;
end $$;

comment on function shardflake._set_layout(text, integer, integer, integer, boolean, bigint, integer) is
  'Writes the constants of a layout. Private: assign_shard() and custom_layout() call it while the database has no shard id.';

revoke execute on function shardflake._set_layout(text, integer, integer, integer, boolean, bigint, integer) from public;
