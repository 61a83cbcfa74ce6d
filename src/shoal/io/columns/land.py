"""A coarse map of land, to notice swapped latitude and longitude: the half-degree squares that touch it.

From Natural Earth's 1:10,000,000 land polygons (public domain, naturalearthdata.com, version 4.1.0).
"""

import base64
import zlib
from functools import cache
from typing import Final

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers

_PER_DEGREE: Final = 2
_SIDE: Final = 360 * _PER_DEGREE + 1  # squares from -180 to 180 degrees, both ends
# rows of squares from -90 degrees up, each from -180 degrees on; one bit a square, deflated
_MASK: Final = (
    r"c-rlq-ESqyRluuU=Jws4yVG7NB3|OS90@5rL>jLaWgRf?yCM=iAjp3Z4?!poNNWkCnPmre&kn*tiq?^M0F;PXiB}{>Jn%xau31Bd"
    r"r!~AK0>!=YvR;W%rY8eT&$``3ef90HQ`LR%_#z@rE85BQ?fbjcr_MQb&Z&<<=-Kt`dUo}@FpuUzJ>=q=2bs_9LdcsBIGPt&h=V35"
    r"MIrog?#~KlM%c@N?U!c+Ck7nu1l9+_B%B_c7y6M~WSyx`{n?u=FR;;+Gx0xkHZ?ge!OJ1k34tVwKfRgBVVnYOj<U>;kbI2HO2(Xp"
    r"pk6Q~rg&;FPYZGeeK%vFCNumL%0WTRz_I!$!n2v6T{HCWdg71iHTo!awYgMEIyKpko%)>4>}s>cQlWiktEV-?tU3Zv*vHN$j~W@2"
    r"2b+9K!r94%r6m<(&dU$!td2u{`-3C#b4f+2C7Jq9Lzaqrx>1!&N%p2Q@qE2OzApbWkRr{z2lZ%y%<iEl*I@S`<A_9$&ue5llTWH&"
    r"RR3bgLtcq^pho9?wPQjyLa)eK`dV<*nTlKrwnl~;cxWTvcahVO^XiS|G|^3bTmnAm@}l4sH{WSF{#~B&{7c^nI?3(`^bsg6%uvN)"
    r"$KecMM9wU_BLbA7I}<#uETjqHB>c$oaf&BuOQ#jGi59FM1qHe7Px6&cu$Q|Mkiv*TO&-rqMwbhZMj)TwK_>i;<I@L)*C}-HHJ%4X"
    r"$d|js@w%(gei>s89*7uTJiAGaHjTQ-)I~<+hYazEB-7+w&t<IVlOIi;fqpoz<d*02B43(Iax1T23fP>;!L4~ogQRn-Pi)Mu^szI?"
    r"vI>1xS^B>e_q?v9xsliBMqZm+sc<~EHeawa_2%V5QJBn0%D9Lry?3Vk=3<vHicqEWNedT4_Dym;T)Aj5n?%TMe>0g-z@Nf|oSiPR"
    r"K`)t$(S|wl<}<?1kL=7tJFaDSo97mK^_j7_K9jlhA>Wv>&GDQ@Ue0INjKz)~oEJHG3Nndim2+2=fD^YgoTJrqP7j<u1=;P}vw6wc"
    r"nX-#E&+a&gAQMNMXD4Gm2lC~vqKm3#&oq20Ri+)}S=?x#zT_O|o{H?uB<XDVe5lE1&Pe7wo|){NLia88>5l7~M!F2RNnY-!$#*rG"
    r"u#0XpzNyJBwe$E)rZP1BpE%pxqtQziU*z(mKA&YIEanEh4sy3R)>|WyeorrRlPk7@`=%hev3}H>jHV>Jy!R~R-!I6tgPcv@frh+!"
    r"f#g&R!+dAcEiy>$Y(WanYpvOtp6px9$K%ge`)1q9U06f#{F86#R!<IYJ@tu$kJ*Mtl}!8nCOzP}5z1lLi>39^ev6yni6Y+;NlFn%"
    r"jTvVrne}zs<?IJr=tYhJX{2s)+^@|^J9L8WXMSXF3UUaVN@&s87J1mw<_!A1PBQKxjU2igImt;UIfTgArm@sEKaVYB4ygdM3_*^W"
    r"|5}n5Ohu-hWK<{TeaS($*6Bv$2yV0Y6lAwF3i3MKD;Dw+M2-M*TAg?7LvB<j1IXEVTKG7hN*Wk?HUX3?R|%hu+<42VUA_w-^VVwX"
    r"B-ihcfZ;aafH(}9aH~Ey<TSSHemW&tz9cDSI|l5VLTxbQTP?3tk{2pd=|dG@us&pUGsnbEPKB!fO0=k@8-dwS2bow#tN1yD-i)gH"
    r"ux*nZLW7nw!JLu087@@S`NzfGPuUXhwiX4ZlZ48w!;i}$<sXGPFMY)%k=RO(py5D}mli;AM3N<b^^WX5DU!i<FLLo3fDH$gS6o9c"
    r"-PstL9{k)CWCoFG#b&qBXD2OP@ND+Vn!})zTo~5YSM;A>K);P_ei0xi7#NeZ5vA&JhPF(bN24z<L8G*Voc)ZA9Hz#>1^lP*Lf=qI"
    r"g13m(;l>s3QizBJ=^_+V#esTyP|>H%+JSW~D9BJvRsEuR+KVP*6dAx_UCZ?s_n@+wT#!d6ZC*xt`QGZHO*P;)V}KmUh3Tpt#8pa~"
    r"fxJqEG*Cgt1a*-UK>7@&pm$`tMle7f2|X|n7UZ=ZFdk)->cg6=^aYWPF5YE3t??O)@37V4P9HL~PWrtC=$n@nc^$LG@&_YFqz#hc"
    r"0#U+5;Ie_EQ7s8tvynMKW<ap{v$B;Vv^qx1MWu59jj$9ZR|2PTos9oY-W<v*?nb?aY9~j)kn}>kW9}-&Ct_ev7OH_4wnl)pS2tP*"
    r"Ec?55Q!3G}cRwbv;*nzPj;!R^GK@CgQN}#n|A_r^T#LmQtTB8qvg+{v5q$a<y7pyp<9RE&xgLF~E{&GOrqXZdT2Maj&W+n`F3IDl"
    r"Vh5thXb1h8s$XF>@B8zp(;?N#r6P{2FB<SOapUEYtbh@B+U9kVYa*oI6Oll)JQ8i+)q%@9WtL(mvlcmTcFZTkG5M#P=)Ua8Kd~U)"
    r"WL&m+t)i;W2_H^wWBfNlD*TVlvoCj&p%wC|K1=5%VhDK`y(r7iuY6oQI|i$m9=z(Gz+^u`gPZTF9U(F9m>j5(6WqSta0fKO-d^s%"
    r"A4<{viz{KPEo+Ve-`eOOe!kE5QktoF;lpb7>Lf>i2dw*Ne8Bhly%aw=mn+YsiICA0<+lLL+A+_3e)#bF%Nb|ha>rB#fz#*!tmq8F"
    r"^sD@kpMCo*UmPq?A`a-fUXp9+;8F;a`L_ao!pWcWZxyb~vsg-2k`vIkrnRVIBw{1}C?~gzK3QBET4a)x9;qtMGLp|~<QGJA%OCy)"
    r"c{i@qqF_mv<g7*>1q~VP6tPjrAM(SvI^@Dt=rx3^uf5nF!)k4QmEV<OI%LDi)3&*ZXyPtY%jj6^AVtp8|9r0%35<Y(QV5Y3XhX|&"
    r"?tO(va^=KT)=93kF0oZHs&W>u@QUb>&#|gJJL-VVRFyV@y&Y}b2Y>lB(T26Vy(YLQNIq^DkZyCZ_0m|7tHpz{)!hv}Ff<GsMz6{F"
    r"E{=i({bI8k3}1eWEdDPA$v6{angK}caCW73dFe(qB#TNiNpnHw)$C;4-R9bjb{MJ2NiJK$*0ir*Dt`i4w=_27tk$K~O;F6JEt4Ko"
    r"F1X3I|De>kJ67_fXbT3XrP6Gx)lzCuP1A~1y%=>!BZULK26;(sd%5vasuGhm88kblJ^b4Z3nbv)!?7ky(fpp!j!{vM`qeIS+(lMv"
    r"$JW(^{I*}wyKz^L%iwUV6x7-q6>>Vs)fPI#=g3YrTJwf@ttCJD9fZDQ3KJ?dvD+a&d(u!1A12G!8q-Jw<160va)Ql1(dH*{gG}vY"
    r"<VQEq@bVSW=AlEt`aOJx-0EyTTT({4iaC1TqbW2;)oQaO|91}OTJk#3pZ%*OGfFta<e=Ar9V!C={1%+I$ct$5Rh6;$9*>_Ve$u1K"
    r"a`l$??|+A^<Q(Zj#@8e{4&){`TxqjoDR;;aK8{9KL&^233ZaWaF?Z;`B==js#J?dGbJ1>sv0kB}$YZLk_06~k*w<;yBD0dS!hQt#"
    r">v~0iwySa16zttb35&oxQx$oe_9kQFiw0KXer%kTFL7&{oJSpjhHfCMkqK)U_i3>>NRpQ{IjsyM+xAp~)zlKRMw{=M5t1qqs5Kop"
    r"wGU8}{yQ>a{AL+UHRQZ!o(N=PeJYD#xQEgS7oj(_O(wQ5KxX>URJ*~OK%0k90YcxL?8Wfb>Nc2DqjwWBW~f^lQlyc3*I$^VIH*ll"
    r";s~TQ`r7klon-wjAF)6Dy3KE7C0VZ(lGKhiujzq`A^KI$x2@#B43eQ)E0kWhkSpWewqTryZw)EGI<}FMz>MCZKEs74H;Qco4RXbo"
    r"tO+qkAzMTwx8&i)UUWl_3-UTJq~Jz500j*1pQgy_pJQH<)p<hcZqeF?b+Z~dmop6hPmrDbLE-K~`G@?^O0iV6POc@%zIaxU!~52{"
    r"lI#dg_SJeE`InWV&2?Y5TK&tX6?r>+n{|+Lt)P0l{=1;Q;qO=fc14iM$$4Jid`6lMNk#1{R5&+r9^jcVtB)rlS|!KnU!iVtSRG`#"
    r"Jkqk<SUwcP<))(t_u6F60CLSIt>_&BVf3+sTqFcFO>7Ua^^kPa>>l~k#6kA;``1MDs7o5D35`FKSgXdI2RbmQk<-VKR%eS(y7^F("
    r"S7~Ieq3h!V{<d-0Q-1xOhN098{P<KGmq+b03OtiPb7`*;Cu}rLu->+U?Ej{Vta|aFLB`_+yJ85vy{F0a3&=XZ!c%pyL~Badi=5%@"
    r"ks)td=dn1KnMV6itVk}bwWkrmfhGs8Qnw_x&n}ClE&sYbqBE-ro8+In*WjE0hxNqOHa8cA{LmB#wwl6t(s|%Z;@oz>q@*XtswVlR"
    r"m5>9jqfT~31iGXeXK1(i$*9p|`%{vOSq)$czL5|f0jB`D$oRx^@D7eT&t6Jpv}RRlX@cCgq?(r_2z(0A7yHa|Tgk#>9otS@y6k8("
    r"v8*^N$+D*JTga=urcoM00yZCsk=k}tUV^Bj%JV9`wnF@*!DT479S#{g_iu3<85==GU<#+dF$$ho+l+5J&ZsKIZzEHFtH(@c2G)&J"
    r"uyA0!=#|g&!|wSRV0t((ZBEe>crj0KVqeT}o5`G*cRrR&MJ;4MwlC)QUE~$<yZLV*atplxOT$m>J1~9MVN$E253?b<{K|LXHZwoD"
    r"Y9&((S!D+Ya_D>8eo9{E$M#KUfrCthy7;?Wh(0b8w+8t`yRC#4Igb=stw@N>GjWrge;j^@u1rZLMsHN*&$v3)Dh-Z9hWw;^F+r`4"
    r"%QX28im$|>CdbWqBU=w6d%?hRxZP`!CU2nx7YClT$oW=?kZnpDTgYQ0jr}MgKj5L|;4^u2LN9XKw*0$MBKQYoJX*VsWzjC_LFQ0#"
    r"DGAQFZgd(#zP}$iZIM%ygeT?*yZE;t@<KctIY(FdEzWQ9h;nue#RcR?eaHzw4&|}G(HCXS3ycfMkGtJ-YXVPtx?yO}_zOAc{Znk&"
    r"fzW94sO7t}AW_yS9whKNs+J9yjgro4EjhxO2om=nDKat1CNQpKJ;?la6t!9{14Xv%+m2a|EN8J{_ZgEO*O6Be1iG#Uc>h(u7df|("
    r"<!6`RXy%4xEvNhV!$P#_t}L;F2PP)V@W~n2O)f-xF3-D!&xKAugI4;G@8KU>qkcG!&S+~n9Z3FmeH%)TQ)2VgdLhkL%pZlF=YTe^"
    r"6}VpBB%>O+*8$Vtge(2Nlicel*Y7ZJ^Lle=OY64UXHoi51g@-TbkRvtotQ(P+U!TZ+(VuDeyw22f?i}`mv38;r>xe4$34iCwc6Wm"
    r"wW^Ruy?XFStqhWhSx{;EYfduV18N$8?>A-n0Q0g?dfGl@w@QAjom@9rD%8s_qO#tAtLcA!&~!=u8SimAeL<G(zEq5f<iL4~EPXVI"
    r"a68CqHWF1%m8lirk~TRByDJg=eN@?*7OVs0|7s<La>*_3YV_l`C3zx+hpg>2k``IT{QM{9PVy&8dDG&w0uGUbW-vq4W~kilrS&%b"
    r"WO*XNs8yfD585jY#n;4FohBaZHc!m<leJcoqR92JI}lxcZW&qYZO$ioQ@+_8xDh&OW%XQ<|Jg~-s^lfP{i8t^KmBKIvXlnD?{;|V"
    r"<@3r|(ykNiHDaXUg81v;v;6&4Cz;jBuS<()tRAMV2>KdB^pL+tc~=+Gv#Jf$R3p<v(?LBJ{&b8)mXgwra-h%1#F0^+B}<JZ>x7DM"
    r"vk^J$sIBf@7XE<ag8YW`nTPug^1iX8N(4BP<oxKo1Dzp$f2hi3At)@LKiM<uTFL@P=&D|py%g|GHR0?5*_V{_`CF*!UgX4j2-Wvn"
    r"*UbmUNm9^~e4Y(Z<?KWi`-DKg-M;Rg8IMCD_l=Kvw1sNNZD?}RZ<AdPlZ6sKJm%gRnjBA$^pM<>oa-TA=t26Pu5PH~Z0hG+`DPNm"
    r"*Iqo7193#`54NyLDRWc~X{4BE>m`n)Qox<u4*4q4)g4VPj(r3R{1&aIXz+Ub{z0zy$YA5X0wZp5_fcOm$I$B?OZSkmf;>4i$K!p%"
    r"ng3^3Ea&e%ei(Hx!<zC+P4FKT3(qc=EJA~0og^d|N9KA?-y90%+A%UUnVGNY)@EB5M^3br-{v_Hjo;k3IPx@NLzNW$%v1~g^J~h-"
    r"7K^kSS&|S*IvQ~66c#@<k%!jQGr3nv&%o>8o<X}t0yCOz3$5OBWLwE3Hx*C+(WxG}h%EPMa@eZ-c$0ANN@UC9BD6nGIS2fw?`l^e"
    r"a-ZLr1a<cLF?E_nc(2iG#B%71>OVQq?HgmmcCyON!lNLpIYMmlB(hxlavtPT9eLf5fMSSLcmI3U8Sof5OJtJLGtB*5PUB|v>H#oc"
    r"B;I2{%H$#w^1)GVs}kojO56xfvgJm)6_?8c3(@7ZM?O&DWn`PFS&?U~;s@u2PXjg|mupDXBc$B%tw&&zStr}h{<?fJa7=MxeQ(37"
    r"ShJAcgUmW3mg#|Cyw(n}7SMJ3)FPnjxii@Muj+_5qyM0ml<=gU(^kmar3YqZVavoL*DY&)J^o#v9Gz(m4x#A;5?59g>N&e@`uAa_"
    r"#$qe<A0|G+*_(n)z=;Z)hK)HmAv9J$lN+o+lQ3NkPO~>;<PMh4X%<GU1sG(n$C}(%GtaE9xd%;w2#s&s!V>9ov>XxS+sdCmg4!$>"
    r"owg31#C^_jLh5{8&8i9de(AH4VJ%0LN*qRg$deT<vBz7B0lZ0V!q<m6ChA^4@PwR!Rj^|bXe47K+*Tn1um6FN*g6)=5C0?5)<G3o"
    r"t|FV_gwybVI}4dARTlZ2ZZw_d-)|{uWYw97mMnK?`Nu>|-<5N%8ABI!1xB`4ZBBId%X`erpP19X-g9Yw|18k6>)G|}dUjQ>{{^uz"
    r";3N"
)


def on_land(lon_deg: Floats, lat_deg: Floats) -> Flags:
    """Whether each position's square touches land, bool [n]; False off the globe."""
    column = np.floor((lon_deg + 180) * _PER_DEGREE)
    row = np.floor((lat_deg + 90) * _PER_DEGREE)
    mask = _mask()
    inside = (column >= 0) & (column < mask.shape[1]) & (row >= 0) & (row < mask.shape[0])
    is_land: Flags = np.zeros(len(column), dtype=np.bool_)
    is_land[inside] = mask[row[inside].astype(np.int64), column[inside].astype(np.int64)]
    return is_land


def squares(lon_deg: Floats, lat_deg: Floats) -> Integers:
    """The square of each position, [n]; either angle may be a longitude."""
    row, column = (np.floor((angle + 180) * _PER_DEGREE) for angle in (lat_deg, lon_deg))
    return (row * _SIDE + column).astype(np.int64)


def middles(square: Integers) -> tuple[Floats, Floats]:
    """Longitude and latitude of each center, [n]."""
    row, column = np.divmod(square, _SIDE)
    return (column + 0.5) / _PER_DEGREE - 180, (row + 0.5) / _PER_DEGREE - 180


def neighbors(square: Integers) -> Integers:
    """These squares and the eight around each."""
    around = np.array([-_SIDE - 1, -_SIDE, 1 - _SIDE, -1, 0, 1, _SIDE - 1, _SIDE, _SIDE + 1])
    return np.unique(square[:, None] + around)


@cache
def _mask() -> Flags:
    shape = (180 * _PER_DEGREE, 360 * _PER_DEGREE)
    bits = np.frombuffer(zlib.decompress(base64.b85decode(_MASK)), dtype=np.uint8)
    return np.unpackbits(bits)[: shape[0] * shape[1]].reshape(shape).astype(np.bool_)
