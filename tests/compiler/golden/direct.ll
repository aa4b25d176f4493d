; ModuleID = 'gemm'
source_filename = "gemm"
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @gemm(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, ptr addrspace(1) noalias %c, i32 %m, i32 %n, i32 %k, i64 %lda, i64 %ldb, i64 %ldc, float %alpha, float %beta) #0 !dbg !3 {
entry:
  %0 = call i32 asm sideeffect "mov.u32 $0, %ctaid.x;", "=r"() #2, !dbg !6
  %1 = add i32 %n, 1, !dbg !6
  %2 = lshr i32 %1, 1, !dbg !6
  %3 = call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"() #2, !dbg !6
  %4 = call i32 asm sideeffect "mov.u32 $0, %ctaid.x;", "=r"() #2, !dbg !7
  %5 = udiv i32 %4, %2, !dbg !7
  %6 = urem i32 %4, %2, !dbg !7
  %7 = shl i32 %5, 1, !dbg !7
  %8 = shl nuw i32 %6, 1, !dbg !7
  %9 = call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"() #2, !dbg !7
  %10 = and i32 %9, 1, !dbg !7
  %11 = lshr i32 %9, 1, !dbg !7
  %12 = and i32 %11, 1, !dbg !7
  %13 = and i32 %11, 2147483646, !dbg !7
  %14 = or disjoint i32 %13, %12, !dbg !7
  %.not = icmp eq i32 %k, 0, !dbg !7
  br i1 %.not, label %i_done, label %i_loop, !dbg !7

i_loop:                                           ; preds = %i_loop, %entry
  %i = phi i32 [ 0, %entry ], [ %30, %i_loop ], !dbg !7
  %15 = phi float [ 0.000000e+00, %entry ], [ %29, %i_loop ], !dbg !7
  %16 = add i32 %7, %14, !dbg !8
  %17 = zext i32 %16 to i64, !dbg !8
  %18 = mul i64 %lda, %17, !dbg !8
  %19 = getelementptr float, ptr addrspace(1) %a, i64 %18, !dbg !8
  %20 = zext i32 %i to i64, !dbg !8
  %21 = getelementptr float, ptr addrspace(1) %19, i64 %20, !dbg !8
  %22 = load float, ptr addrspace(1) %21, align 4, !dbg !8
  %23 = or disjoint i32 %8, %10, !dbg !9
  %24 = zext i32 %23 to i64, !dbg !9
  %25 = getelementptr float, ptr addrspace(1) %b, i64 %24, !dbg !9
  %26 = mul i64 %ldb, %20, !dbg !9
  %27 = getelementptr float, ptr addrspace(1) %25, i64 %26, !dbg !9
  %28 = load float, ptr addrspace(1) %27, align 4, !dbg !9
  %29 = call float @llvm.fma.f32(float %22, float %28, float %15), !dbg !10
  %30 = add i32 %i, 1, !dbg !10
  %31 = icmp ult i32 %30, %k, !dbg !10
  br i1 %31, label %i_loop, label %i_done, !dbg !10, !llvm.loop !11

i_done:                                           ; preds = %i_loop, %entry
  %32 = phi float [ %29, %i_loop ], [ 0.000000e+00, %entry ], !dbg !10
  %33 = call i32 asm sideeffect "mov.u32 $0, %ctaid.x;", "=r"() #2, !dbg !13
  %34 = udiv i32 %33, %2, !dbg !13
  %35 = urem i32 %33, %2, !dbg !13
  %36 = shl i32 %34, 1, !dbg !13
  %37 = shl nuw i32 %35, 1, !dbg !13
  %38 = call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"() #2, !dbg !13
  %39 = and i32 %38, 1, !dbg !13
  %40 = lshr i32 %38, 1, !dbg !13
  %41 = and i32 %40, 1, !dbg !13
  %42 = and i32 %40, 2147483646, !dbg !13
  %43 = or disjoint i32 %42, %41, !dbg !13
  %44 = add i32 %36, %43, !dbg !13
  %45 = or disjoint i32 %37, %39, !dbg !13
  %46 = zext i32 %44 to i64, !dbg !13
  %47 = mul i64 %ldc, %46, !dbg !13
  %48 = zext i32 %45 to i64, !dbg !13
  %49 = getelementptr float, ptr addrspace(1) %c, i64 %47, !dbg !13
  %50 = getelementptr float, ptr addrspace(1) %49, i64 %48, !dbg !13
  store float %32, ptr addrspace(1) %50, align 4, !dbg !13
  ret void, !dbg !13
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #1

attributes #0 = { "nvvm.reqntid"="4" }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "tilec", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "gemm.tile", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "gemm", linkageName: "gemm", scope: !1, file: !1, line: 1, type: !4, scopeLine: 1, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocation(line: 11, column: 1, scope: !3)
!7 = !DILocation(line: 12, column: 1, scope: !3)
!8 = !DILocation(line: 13, column: 1, scope: !3)
!9 = !DILocation(line: 14, column: 1, scope: !3)
!10 = !DILocation(line: 15, column: 1, scope: !3)
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.unroll.disable"}
!13 = !DILocation(line: 17, column: 1, scope: !3)
