-- Records the revision, in the table that Alembic keeps, so that "shardflake db upgrade" can go on from here.

create table if not exists shardflake.alembic_version (
  version_num varchar(32) not null,
  constraint alembic_version_pkc primary key (version_num)
);

insert into shardflake.alembic_version (version_num) values ('0001');
